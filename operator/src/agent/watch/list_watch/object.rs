//! An object of which only the metadata was parsed: one that cannot be read as a whole must not
//! fail the others.

use super::error::Error;
use kube::api::ObjectMeta;
use kube::core::Resource;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::marker::PhantomData;

/// An object of kind `K` as text. It is deserialised straight from the text, without a tree of JSON
/// values in between.
#[derive(Debug, Clone, Deserialize)]
#[serde(bound = "")]
pub(crate) struct Object<K> {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    spec: Option<Box<RawValue>>,
    #[serde(default)]
    status: Option<Box<RawValue>>,
    #[serde(skip)]
    kind: PhantomData<K>,
}

impl<K> Object<K> {
    pub(crate) fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    pub(super) fn version(&self) -> Result<String, Error> {
        self.metadata.resource_version.clone().ok_or(Error::NoVersion)
    }

    /// # Errors
    /// When it is not of this type.
    pub(crate) fn spec<S: DeserializeOwned>(&self) -> Result<S, serde_json::Error> {
        serde_json::from_str(self.spec.as_deref().map_or("null", RawValue::get))
    }

    /// None when there is none.
    ///
    /// # Errors
    /// When it is not of this type.
    pub(crate) fn status<S: DeserializeOwned>(&self) -> Result<Option<S>, serde_json::Error> {
        self.status.as_deref().map(|status| serde_json::from_str(status.get())).transpose()
    }
}

impl<K: Resource<DynamicType = ()>> Resource for Object<K> {
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
