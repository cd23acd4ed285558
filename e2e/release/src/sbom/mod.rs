//! What the files of a release are made of, as CycloneDX 1.5.
//!
//! - [`cargo`] lists the packages in the programs of usnet.
//! - [`debian`] lists the packages in an image of Debian's programs.

pub mod cargo;
pub mod debian;

use serde_json::{Value, json};

/// Why the list could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SbomError {
    /// `cargo metadata` printed something else than expected.
    #[error("cargo metadata says nothing of {0}")]
    Metadata(String),
    /// The time is none that a calendar has.
    #[error("SOURCE_DATE_EPOCH is {0}, which is no time in seconds since 1970")]
    Time(u64),
}

/// What a list is of.
#[derive(Clone, Copy)]
struct Subject<'a> {
    /// `application` or `container`.
    kind: &'a str,
    name: &'a str,
    version: &'a str,
}

/// The document of these components, in the order of their references.
fn complete(
    subject: Subject<'_>,
    mut components: Vec<Value>,
    mut dependencies: Vec<Value>,
    time: u64,
) -> Result<Value, SbomError> {
    let created = i64::try_from(time).ok().and_then(|time| jiff::Timestamp::from_second(time).ok());
    let created = created.ok_or(SbomError::Time(time))?.to_string();
    components.sort_by_key(|component| component.get("bom-ref").map(Value::to_string));
    dependencies.sort_by_key(|dependency| dependency.get("ref").map(Value::to_string));
    let Subject { kind, name, version } = subject;
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": created,
            "component": {"type": kind, "bom-ref": name, "name": name, "version": version},
        },
        "components": components,
        "dependencies": dependencies,
    }))
}
