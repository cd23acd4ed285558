//! `NetworkAttachmentDefinition` (NAD), the object of the Network Plumbing Working Group that
//! Multus reads. Its CRD is installed with Multus. Format:
//! <https://github.com/k8snetworkplumbingwg/multi-net-spec>.

use crate::NetworkName;
use crate::legacy::PLUGIN;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// The label of every generated NAD, with the name of its network.
pub const NETWORK_LABEL: &str = "usnet.dev/network";
/// The label of every network that the controller generates for a bridge that NADs of users name.
/// Without it the network is a user's.
pub const FROM_NAD_LABEL: &str = "usnet.dev/from-nad";
/// The value of [`FROM_NAD_LABEL`].
pub const FROM_NAD_VALUE: &str = "true";
/// The annotation of a NAD with the resource that its pods request. Multus then looks up the
/// allocated device of a pod. The name is defined by the NAD format.
pub const RESOURCE_ANNOTATION: &str = "k8s.v1.cni.cncf.io/resourceName";
/// The `cniVersion` of generated NADs.
pub const CNI_VERSION: &str = "1.1.0";

/// A CNI configuration that pods name in an annotation.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[kube(
    group = "k8s.cni.cncf.io",
    version = "v1",
    kind = "NetworkAttachmentDefinition",
    plural = "network-attachment-definitions",
    namespaced,
    schema = "disabled",
    derive = "PartialEq"
)]
pub struct NetworkAttachmentDefinitionSpec {
    /// The configuration, as JSON text.
    #[serde(default)]
    pub config: String,
}

/// The capabilities that Multus passes on from the annotation of a pod. `portMappings` is among
/// them so that it is rejected, and not ignored silently.
const CAPABILITIES: &str = r#"{"CNIDeviceInfoFile":true,"bandwidth":true,"ips":true,"mac":true,"portMappings":true}"#;

/// The configuration of the generated NADs of a network: its name and the capabilities, no path and
/// no bridge.
pub fn config(network: &NetworkName) -> String {
    // The name is a DNS label, which JSON text holds as it is.
    format!(
        r#"{{"cniVersion":"{CNI_VERSION}","name":"{network}","type":"{PLUGIN}","network":"{network}","capabilities":{CAPABILITIES}}}"#
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_generated_nad_names_only_the_network() {
        let config = super::config(&"blue-2".parse().unwrap());
        let expected = serde_json::json!({
            "cniVersion": "1.1.0", "name": "blue-2", "type": "userspace", "network": "blue-2",
            "capabilities": {"CNIDeviceInfoFile": true, "bandwidth": true, "ips": true, "mac": true, "portMappings": true}
        });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&config).unwrap(), expected);
    }
}
