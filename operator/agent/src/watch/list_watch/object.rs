//! An object of which only the metadata was parsed, so that an object that cannot be read as a
//! whole does not make the list fail.

use super::error::Error;
use usnet_common::api::partial_object::{PartialObject, Text};

/// An object of kind `K`, with spec and status as text. It is deserialized straight from the text,
/// without a tree of JSON values in between.
pub(crate) type Object<K> = PartialObject<K, Text, Text>;

pub(super) fn version<K>(object: &Object<K>) -> Result<String, Error> {
    object.metadata.resource_version.clone().ok_or(Error::NoVersion)
}
