//! The name of a network: its rules in CEL and in Rust.

use crate::cel::rule;
use crate::types::limits::DEVICE_NETWORK_NAME_MAX;
use crate::types::names::{NETWORK_NAME_MAX, VPP_NETWORK_NAME_MAX};
use crate::{EngineKind, InvalidName, NetworkName};
use kube::core::Rule;

/// The API server allows dots in names of custom resources; it validates the rest of a DNS label.
pub(super) fn is_dns_label() -> Rule {
    rule(
        format!("!self.metadata.name.contains('.') && size(self.metadata.name) <= {NETWORK_NAME_MAX}"),
        format!("metadata.name is not a DNS label: use at most {NETWORK_NAME_MAX} lower-case letters, digits and '-'"),
    )
}

/// kubelet's ids of devices begin with the name.
pub(super) fn fits_device_ids() -> Rule {
    rule(
        format!("!has(self.spec.devicePlugin) || size(self.metadata.name) <= {DEVICE_NETWORK_NAME_MAX}"),
        format!(
            "metadata.name is too long for devicePlugin, whose devices have it in their ids: use at most {DEVICE_NETWORK_NAME_MAX} characters"
        ),
    )
}

/// VPP would truncate the tag that contains the name.
pub(super) fn fits_vpp_tag() -> Rule {
    rule(
        format!("self.spec.engine != 'VPP' || size(self.metadata.name) <= {VPP_NETWORK_NAME_MAX}"),
        format!(
            "metadata.name is too long for VPP, which keeps it in the tag of a bridge domain: use at most {VPP_NETWORK_NAME_MAX} characters"
        ),
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
    match engine {
        EngineKind::Vpp if name.as_str().len() > VPP_NETWORK_NAME_MAX => Err(InvalidName::VppNetwork(name.into())),
        _ => Ok(name),
    }
}
