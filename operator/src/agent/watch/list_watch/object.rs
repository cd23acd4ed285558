//! An object of which only the metadata was parsed: one that cannot be read as a whole must not
//! fail the others.

use super::error::Error;
use crate::api::partial_object::{PartialObject, Text};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// An object of kind `K`, with spec and status as text. It is deserialized straight from the text,
/// without a tree of JSON values in between.
pub(crate) type Object<K> = PartialObject<K, Text, Text>;

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
