//! The name of a network: its rules in CEL and in Rust.

use crate::cel::rule;
use crate::types::limits::DEVICE_NETWORK_NAME_MAX;
use crate::types::names::NETWORK_NAME_MAX;
use crate::{EngineKind, InvalidName, NetworkName};
use kube::core::Rule;

/// The API server allows dots in names of custom resources; it validates the rest of a DNS label.
pub(super) fn is_dns_label() -> Rule {
    rule(
        format!("!self.metadata.name.contains('.') && size(self.metadata.name) <= {NETWORK_NAME_MAX}"),
        format!("metadata.name is not a DNS label: use at most {NETWORK_NAME_MAX} lower-case letters, digits and '-'"),
    )
}

/// Ids of devices begin with the name.
pub(super) fn fits_device_ids() -> Rule {
    rule(
        format!(
            "!has(self.spec.devicePlugin) && !has(self.spec.resourceClaims) || size(self.metadata.name) <= {DEVICE_NETWORK_NAME_MAX}"
        ),
        format!(
            "metadata.name is too long for devicePlugin and resourceClaims, whose devices have it in their ids: use at most {DEVICE_NETWORK_NAME_MAX} characters"
        ),
    )
}

/// The engines whose limit is lower than that of Kubernetes.
fn limited() -> impl Iterator<Item = EngineKind> {
    EngineKind::ALL.into_iter().filter(|engine| engine.traits().network_name_max < NETWORK_NAME_MAX)
}

/// There is one rule for all engines, because rules on the whole object are listed one by one.
pub(super) fn fits_engine() -> Rule {
    let fits = limited().map(|engine| {
        let row = engine.traits();
        format!("self.spec.engine != '{}' || size(self.metadata.name) <= {}", row.api_name, row.network_name_max)
    });
    let why = limited().map(|engine| format!("metadata.name is {}", too_long(engine)));
    let parts: Vec<String> = fits.collect();
    let expression = match parts.as_slice() {
        [only] => only.clone(),
        several => several.iter().map(|part| format!("({part})")).collect::<Vec<_>>().join(" && "),
    };
    rule(expression, why.collect::<Vec<_>>().join("; "))
}

fn too_long(engine: EngineKind) -> String {
    let row = engine.traits();
    format!(
        "too long for {engine}, which keeps it in {}: use at most {} characters",
        row.network_name_place, row.network_name_max
    )
}

/// The name of the network, which the engine and kubelet must be able to store.
pub(super) fn network_name(
    engine: EngineKind,
    has_devices: bool,
    name: Option<String>,
) -> Result<NetworkName, InvalidName> {
    let name = NetworkName::try_from(name.unwrap_or_default())?;
    if has_devices && name.as_str().len() > DEVICE_NETWORK_NAME_MAX {
        return Err(InvalidName::DeviceNetwork(name.into()));
    }
    match engine.traits().network_name_max {
        maximum if name.as_str().len() > maximum => {
            Err(InvalidName::EngineNetwork { name: name.into(), why: too_long(engine) })
        }
        _ => Ok(name),
    }
}
