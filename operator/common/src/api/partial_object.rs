//! Objects of which only the used fields are deserialized, straight from the JSON text. Everything
//! else, above all `managedFields` and foreign annotations, is skipped and never buffered.

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
use usnet_crds::multi_network_policy::spec::POLICY_FOR_ANNOTATION;
use usnet_crds::nad::RESOURCE_ANNOTATION;

/// JSON text that is parsed later, so that an object with an unreadable part is still known by
/// name.
pub type Text = Option<Box<RawValue>>;

/// An object of the kind `K` with what is read of its spec and its status.
#[derive(Deserialize)]
#[serde(bound = "Spec: DeserializeOwned + Default, Status: DeserializeOwned + Default")]
pub struct PartialObject<K, Spec, Status> {
    #[serde(default, deserialize_with = "metadata")]
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub spec: Spec,
    #[serde(default)]
    pub status: Status,
    #[serde(skip)]
    pub(crate) kind: PhantomData<fn() -> K>,
}

impl<K> PartialObject<K, Text, Text> {
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    pub fn spec<S: DeserializeOwned>(&self) -> Result<S, serde_json::Error> {
        serde_json::from_str(self.spec.as_deref().map_or("null", RawValue::get))
    }

    /// The status; none when there is none.
    pub fn status<S: DeserializeOwned>(&self) -> Result<Option<S>, serde_json::Error> {
        self.status.as_deref().map(|status| serde_json::from_str(status.get())).transpose()
    }
}

impl<K, Spec: Clone, Status: Clone> Clone for PartialObject<K, Spec, Status> {
    fn clone(&self) -> Self {
        let (metadata, spec, status) = (self.metadata.clone(), self.spec.clone(), self.status.clone());
        Self { metadata, spec, status, kind: PhantomData }
    }
}

impl<K, Spec, Status> fmt::Debug for PartialObject<K, Spec, Status> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PartialObject").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

impl<K: Resource<DynamicType = ()>, Spec, Status> Resource for PartialObject<K, Spec, Status> {
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

/// Annotations of usnet, the one that Multus reads, and the one of policies. Others are dropped:
/// that of `kubectl apply` contains a copy of the whole object.
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
                    if key.starts_with("usnet.dev/")
                        || [RESOURCE_ANNOTATION, POLICY_FOR_ANNOTATION].contains(&key.as_str())
                    {
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
