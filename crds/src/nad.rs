//! `NetworkAttachmentDefinition`, the community's object that Multus reads; its CRD comes with Multus and not from here.
//! Format: <https://github.com/k8snetworkplumbingwg/multi-net-spec>.

use crate::NetworkName;
use crate::legacy::PLUGIN;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// On every definition that the controller makes: the network that it belongs to.
pub const NETWORK_LABEL: &str = "usnet.dev/network";
/// On every network that the controller made because hand-written definitions name its bridge. Without it the network is a person's.
pub const FROM_NAD_LABEL: &str = "usnet.dev/from-nad";
/// The value of [`FROM_NAD_LABEL`].
pub const FROM_NAD_VALUE: &str = "true";
/// On a definition: the resource that its pods ask for. Multus then looks up which device a pod has. Format: as the object's.
pub const RESOURCE_ANNOTATION: &str = "k8s.v1.cni.cncf.io/resourceName";
/// The version of the CNI specification that generated definitions ask for.
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

/// What a pod may ask for in its annotation, and Multus passes on. `portMappings` is among them so that it is refused, and not left out without a word.
const CAPABILITIES: &str = r#"{"CNIDeviceInfoFile":true,"bandwidth":true,"ips":true,"mac":true,"portMappings":true}"#;

/// The configuration of a network's generated definitions. Beyond capabilities it names the network and nothing else: no path, no bridge.
pub fn config(network: &NetworkName) -> String {
    // The name is a DNS label, which JSON text holds as it is.
    format!(
        r#"{{"cniVersion":"{CNI_VERSION}","name":"{network}","type":"{PLUGIN}","network":"{network}","capabilities":{CAPABILITIES}}}"#
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_generated_definition_names_the_network_and_nothing_else() {
        let config = super::config(&"blue-2".parse().unwrap());
        let expected = serde_json::json!({
            "cniVersion": "1.1.0", "name": "blue-2", "type": "userspace", "network": "blue-2",
            "capabilities": {"CNIDeviceInfoFile": true, "bandwidth": true, "ips": true, "mac": true, "portMappings": true}
        });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&config).unwrap(), expected);
    }
}
