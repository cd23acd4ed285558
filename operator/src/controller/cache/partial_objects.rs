//! The objects as deserialized by watches: only the fields that the controller uses, straight from
//! the JSON text. Everything else, above all `managedFields`, foreign annotations and oversized
//! configurations, is skipped and never buffered.

use k8s_openapi::api::core::v1;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kube::Resource;
use kube::api::ObjectMeta;
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use usnet_crds::legacy::CONFIG_MAX;
use usnet_crds::nad::RESOURCE_ANNOTATION;
use usnet_crds::{CompiledNetwork, NetworkAttachmentDefinition, UserspaceNetwork, UserspaceNodeState};

/// JSON text that is parsed later, so that an object with an unreadable part is still known by
/// name.
pub(crate) type Text = Option<Box<RawValue>>;

pub(crate) type NetworkObject = Watched<UserspaceNetwork, Text, Text>;
pub(crate) type CompiledObject = Watched<CompiledNetwork, Text, IgnoredAny>;
pub(crate) type NodeStateObject = Watched<UserspaceNodeState, Text, Text>;
pub(crate) type NodeObject = Watched<v1::Node, IgnoredAny, NodeStatusPart>;
pub(crate) type NamespaceObject = Watched<v1::Namespace, IgnoredAny, IgnoredAny>;
pub(crate) type NadObject = Watched<NetworkAttachmentDefinition, NadSpecPart, IgnoredAny>;

/// An object of the kind `K` with what is read of its spec and its status.
#[derive(Deserialize)]
#[serde(bound = "Spec: DeserializeOwned + Default, Status: DeserializeOwned + Default")]
pub(crate) struct Watched<K, Spec, Status> {
    #[serde(default, deserialize_with = "metadata")]
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: Spec,
    #[serde(default)]
    pub(crate) status: Status,
    #[serde(skip)]
    pub(crate) kind: PhantomData<fn() -> K>,
}

impl<K, Spec: Clone, Status: Clone> Clone for Watched<K, Spec, Status> {
    fn clone(&self) -> Self {
        let (metadata, spec, status) = (self.metadata.clone(), self.spec.clone(), self.status.clone());
        Self { metadata, spec, status, kind: PhantomData }
    }
}

impl<K, Spec, Status> fmt::Debug for Watched<K, Spec, Status> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Watched").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

impl<K: Resource<DynamicType = ()>, Spec, Status> Resource for Watched<K, Spec, Status> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind(_: &()) -> Cow<'_, str> {
        K::kind(&())
    }
    fn group(_: &()) -> Cow<'_, str> {
        K::group(&())
    }
    fn version(_: &()) -> Cow<'_, str> {
        K::version(&())
    }
    fn plural(_: &()) -> Cow<'_, str> {
        K::plural(&())
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Of a Node's status.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct NodeStatusPart {
    #[serde(default)]
    pub(crate) conditions: Option<Vec<NodeCondition>>,
}

/// A condition of a Node.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct NodeCondition {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) status: String,
}

/// Of the spec of a NetworkAttachmentDefinition.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct NadSpecPart {
    #[serde(default)]
    pub(crate) config: Config,
}

/// The configuration in a NetworkAttachmentDefinition. An oversized one is dropped while it is
/// read: tenants can create as many as their quota allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Config {
    Text(String),
    /// With its length in bytes.
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
            fn visit_unit<E>(self) -> Result<Config, E> {
                Ok(Config::default())
            }
        }
        deserializer.deserialize_any(ConfigVisitor)
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MetadataPart {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
    annotations: UsedAnnotations,
    finalizers: Option<Vec<String>>,
    owner_references: Option<Vec<OwnerReference>>,
}

fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let part = MetadataPart::deserialize(deserializer)?;
    Ok(ObjectMeta {
        name: part.name,
        namespace: part.namespace,
        uid: part.uid,
        resource_version: part.resource_version,
        generation: part.generation,
        creation_timestamp: part.creation_timestamp,
        deletion_timestamp: part.deletion_timestamp,
        labels: part.labels,
        annotations: Some(part.annotations.0).filter(|annotations| !annotations.is_empty()),
        finalizers: part.finalizers,
        owner_references: part.owner_references,
        ..ObjectMeta::default()
    })
}

/// Annotations of usnet, and the one that Multus reads. Others are dropped: that of `kubectl apply`
/// contains a copy of the whole object.
#[derive(Default)]
struct UsedAnnotations(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for UsedAnnotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnnotationsVisitor;
        impl<'de> Visitor<'de> for AnnotationsVisitor {
            type Value = UsedAnnotations;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("annotations or null")
            }
            fn visit_unit<E>(self) -> Result<UsedAnnotations, E> {
                Ok(UsedAnnotations::default())
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UsedAnnotations, A::Error> {
                let mut used = BTreeMap::new();
                while let Some(key) = map.next_key::<String>()? {
                    if key.starts_with("usnet.dev/") || key == RESOURCE_ANNOTATION {
                        used.insert(key, map.next_value()?);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(UsedAnnotations(used))
            }
        }
        deserializer.deserialize_any(AnnotationsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
    }

    #[test]
    fn an_unreadable_spec_is_still_an_object_of_a_watch() {
        let event = r#"{"type": "ADDED", "object": {"metadata": {"name": "blue", "uid": "1"}, "spec": [7]}}"#;
        let event: kube::core::WatchEvent<NetworkObject> = serde_json::from_str(event).unwrap();
        let kube::core::WatchEvent::Added(object) = event else { panic!("{event:?}") };
        assert_eq!((object.metadata.name.as_deref(), object.spec.unwrap().get()), (Some("blue"), "[7]"));
    }
}
