//! The kinds of objects as the controller deserializes them: only the fields that it uses.
//! Oversized configurations are skipped.

use k8s_openapi::api::core::v1;
use serde::de::{IgnoredAny, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use usnet_common::api::partial_object::{PartialObject, Text};
use usnet_crds::legacy::CONFIG_MAX;
use usnet_crds::{
    CompiledNetwork, NetworkAttachmentDefinition, UserspaceAttachment, UserspaceNetwork, UserspaceNodeSlice,
    UserspaceNodeState, UserspaceReservation, UserspaceUplink,
};

pub type NetworkObject = PartialObject<UserspaceNetwork, Text, Text>;
pub type CompiledObject = PartialObject<CompiledNetwork, Text, IgnoredAny>;
pub type NodeStateObject = PartialObject<UserspaceNodeState, Text, Text>;
pub(crate) type NodeSliceObject = PartialObject<UserspaceNodeSlice, Text, IgnoredAny>;
pub type UplinkObject = PartialObject<UserspaceUplink, Text, Text>;
pub type NodeObject = PartialObject<v1::Node, IgnoredAny, NodeStatusPart>;
pub type NamespaceObject = PartialObject<v1::Namespace, IgnoredAny, IgnoredAny>;
pub(crate) type AttachmentObject = PartialObject<UserspaceAttachment, Text, Text>;
pub type ReservationObject = PartialObject<UserspaceReservation, Text, Text>;
pub(crate) type PodObject = PartialObject<v1::Pod, PodSpecPart, PodStatusPart>;
pub type NadObject = PartialObject<NetworkAttachmentDefinition, NadSpecPart, IgnoredAny>;

#[derive(Debug, Clone, Default, Deserialize)]
pub struct NodeStatusPart {
    #[serde(default)]
    pub(crate) conditions: Option<Vec<NodeCondition>>,
    #[serde(default)]
    pub(crate) addresses: Option<Vec<NodeAddress>>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct NodeAddress {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) address: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct NodeCondition {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) status: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodSpecPart {
    pub(crate) node_name: Option<String>,
    pub(crate) host_network: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PodStatusPart {
    pub(crate) phase: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub struct NadSpecPart {
    #[serde(default)]
    pub config: Config,
}

/// The configuration in a NetworkAttachmentDefinition. An oversized one is dropped while it is
/// read: tenants can create as many as their quota allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Config {
    Text(String),
    /// An oversized configuration, with its length in bytes.
    TooLong(usize),
}

impl Default for Config {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ConfigVisitor;
        impl Visitor<'_> for ConfigVisitor {
            type Value = Config;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("JSON text or null")
            }
            fn visit_str<E>(self, text: &str) -> Result<Config, E> {
                Ok(if text.len() > CONFIG_MAX { Config::TooLong(text.len()) } else { Config::Text(text.to_owned()) })
            }
            /// The length of an oversized configuration that was not read:
            /// [`usnet_common::api::pruning`].
            fn visit_u64<E>(self, length: u64) -> Result<Config, E> {
                Ok(Config::TooLong(usize::try_from(length).unwrap_or(usize::MAX)))
            }
            fn visit_unit<E>(self) -> Result<Config, E> {
                Ok(Config::default())
            }
        }
        deserializer.deserialize_any(ConfigVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use usnet_crds::nad::RESOURCE_ANNOTATION;

    fn nad(config: &str) -> NadObject {
        let text = json!({
            "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
            "metadata": {
                "name": "a", "namespace": "b", "managedFields": [{"manager": "x"}],
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": config, RESOURCE_ANNOTATION: "usnet.dev/a"},
            },
            "spec": {"config": config},
        });
        serde_json::from_str(&text.to_string()).unwrap()
    }

    #[test]
    fn unused_fields_are_dropped() {
        let read = nad("{}");
        assert_eq!(read.spec.config, Config::Text("{}".to_owned()));
        assert_eq!(read.metadata.managed_fields, None);
        assert_eq!(read.metadata.annotations.unwrap().into_keys().collect::<Vec<_>>(), [RESOURCE_ANNOTATION]);
        assert_eq!(nad(&"x".repeat(CONFIG_MAX + 1)).spec.config, Config::TooLong(CONFIG_MAX + 1));
        let pruned: NadObject = serde_json::from_str(r#"{"metadata": {}, "spec": {"config": 70000}}"#).unwrap();
        assert_eq!(pruned.spec.config, Config::TooLong(70_000));
    }

    #[test]
    fn an_unreadable_spec_is_still_an_object_of_a_watch() {
        let event = r#"{"type": "ADDED", "object": {"metadata": {"name": "blue", "uid": "1"}, "spec": [7]}}"#;
        let event: kube::core::WatchEvent<NetworkObject> = serde_json::from_str(event).unwrap();
        let kube::core::WatchEvent::Added(object) = event else { panic!("{event:?}") };
        assert_eq!((object.metadata.name.as_deref(), object.spec.unwrap().get()), (Some("blue"), "[7]"));
    }
}
