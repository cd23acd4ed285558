//! The CRDs as manifest files.

use super::applied;
use crate::conditions::{READY, Status, reason};
use crate::uplink::spec::UserspaceUplink;
use crate::{
    CompiledNetwork, CompiledPolicy, UserspaceAttachment, UserspaceEngine, UserspaceNetwork, UserspaceNodeSlice,
    UserspaceNodeState, UserspacePodSlice, UserspaceReservation,
};
use kube::CustomResourceExt;
use serde_json::{Value, json};

/// The kustomization that lists the other files.
pub const KUSTOMIZATION: &str = "kustomization.yaml";
const HEADER: &str = "# Made by `cargo run -p usnet-crds --bin crdgen`; edit crds/src instead.\n";

/// The transition time of a condition that was never written.
const EPOCH: &str = "1970-01-01T00:00:00Z";

/// The JSON pointers of schemas.
const SPEC: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
const STATUS: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/status";
/// The first so many CRDs are of objects that users write.
const APPLIED: usize = 5;

/// A file of `config/crd`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    pub file: String,
    pub yaml: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The schema has no JSON form: a type of this crate is wrong.
    #[error("cannot write the CRD as JSON")]
    Json(#[from] serde_json::Error),
    /// The CRD has no YAML form.
    #[error("cannot write the CRD as YAML")]
    Yaml(#[from] serde_yaml::Error),
}

/// The CRDs as JSON.
pub fn crds() -> Result<Vec<Value>, ManifestError> {
    let mut crds = with_defaults()?;
    for spec in crds.iter_mut().take(APPLIED).filter_map(|crd| crd.pointer_mut(SPEC)) {
        applied::prepare(spec);
    }
    for metadata in crds.iter_mut().filter_map(|crd| crd.pointer_mut("/metadata")?.as_object_mut()) {
        metadata.insert("annotations".to_owned(), kept());
    }
    Ok(crds)
}

/// Annotations by which Flux and Argo CD keep a CRD that is gone from a repository, or whose
/// repository is gone: without it all networks would be deleted, and a CRD that is being deleted
/// cannot be installed again.
fn kept() -> Value {
    json!({
        "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
        "kustomize.toolkit.fluxcd.io/prune": "disabled",
    })
}

/// The CRDs whose schemas have the defaults that readers use.
pub(super) fn with_defaults() -> Result<Vec<Value>, ManifestError> {
    let crds = [
        UserspaceNetwork::crd(),
        UserspaceUplink::crd(),
        UserspaceAttachment::crd(),
        UserspaceReservation::crd(),
        UserspaceEngine::crd(),
        CompiledNetwork::crd(),
        CompiledPolicy::crd(),
        UserspaceNodeState::crd(),
        UserspaceNodeSlice::crd(),
        UserspacePodSlice::crd(),
    ];
    let json = crds.iter().map(|crd| Ok(simplified(serde_json::to_value(crd)?)));
    let mut json: Vec<Value> = json.collect::<Result<_, ManifestError>>()?;
    for status in json.iter_mut().take(APPLIED).filter_map(|crd| crd.pointer_mut(STATUS)) {
        status["default"] = first_status();
    }
    Ok(json)
}

/// The default status, before the controller has seen the object. kstatus takes an object without
/// Ready for a healthy one, which would be wrong in the meantime.
fn first_status() -> Value {
    json!({"conditions": [{
        "type": READY,
        "status": Status::Unknown.as_str(),
        "reason": reason::WAITING_FOR_CONTROLLER,
        "message": "no controller of usnet has seen it yet",
        "lastTransitionTime": EPOCH,
    }]})
}

/// All files of `config/crd`.
pub fn manifests() -> Result<Vec<Manifest>, ManifestError> {
    let mut files = Vec::new();
    let mut kustomization = format!("{HEADER}resources:\n");
    for crd in crds()? {
        let plural = crd.pointer("/spec/names/plural").and_then(Value::as_str).unwrap_or_default();
        let file = format!("{plural}.yaml");
        kustomization.push_str(&format!("- {file}\n"));
        files.push(Manifest { file, yaml: format!("{HEADER}{}", yaml(&crd)?) });
    }
    files.push(Manifest { file: KUSTOMIZATION.to_owned(), yaml: kustomization });
    Ok(files)
}

/// Quotes the time: readers of YAML 1.1 take an unquoted one for a date, which is not text.
fn yaml(crd: &Value) -> Result<String, ManifestError> {
    Ok(serde_yaml::to_string(crd)?.replace(&format!(": {EPOCH}\n"), &format!(": \"{EPOCH}\"\n")))
}

/// Optional fields may be omitted but not `null`, which would be a third case in CEL rules. Formats
/// such as `uint32` are removed: API servers warn about unknown formats, and bounds express the
/// same.
fn simplified(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let keep = |(key, field): &(String, Value)| match field {
                Value::Bool(_) => key != "nullable",
                Value::String(format) => key != "format" || !format.starts_with("uint"),
                _ => true,
            };
            let fields = fields.into_iter().filter(keep).map(|(key, field)| match field {
                // The lines of a doc comment are those of the source, not of the description.
                Value::String(text) if key == "description" => (key, unwrapped(&text).into()),
                other => (key, simplified(other)),
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(simplified).collect()),
        other => other,
    }
}

/// Puts each paragraph on one line.
fn unwrapped(text: &str) -> String {
    text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect::<Vec<_>>().join("\n\n")
}
