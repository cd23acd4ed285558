//! The pod's annotation with its network selection elements, as the runtime passes it. Grammar:
//! Network Plumbing Working Group specification (v1.3, section 4.1), with Multus'
//! `namespace/name@interface`.

use crate::protocol::configuration::{Configuration, ConfigurationError};
use crate::protocol::error::ErrorCode;
use crate::protocol::network_selection::element::{NetworkSelectionElement, NetworkSelectionError};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use usnet_dataplane::attachment::InterfaceName;

/// The capability by which containerd and CRI-O pass a pod's annotations.
pub const CAPABILITY: &str = "io.kubernetes.cri.pod-annotations";
/// The annotation that only usnet reads. If present, [`NPWG_ANNOTATION`] is ignored.
pub const USNET_ANNOTATION: &str = "usnet.dev/networks";
/// The standard annotation, which Multus reads as well.
pub const NPWG_ANNOTATION: &str = "k8s.v1.cni.cncf.io/networks";
/// More interfaces than this are considered a mistake. They are attached one after the other, and
/// kubelet's four minutes for a sandbox must suffice for all of them.
const ELEMENTS_MAX: usize = 64;

/// Why a pod's annotation cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AnnotationError {
    /// The configuration cannot be read.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// The runtime passed no annotations.
    #[error(
        "the container runtime did not pass the pod's annotations: write \"capabilities\": {{\"{CAPABILITY}\": true}} beside \"networks\" in the list of plugins; containerd and CRI-O support it"
    )]
    NotPassed,
    /// The annotations are not an object.
    #[error("\"runtimeConfig.{CAPABILITY}\" must be an object of annotations")]
    NotAnnotations,
    /// An annotation is not text.
    #[error("annotation {0} must be text")]
    NotText(&'static str),
    /// The annotation is JSON but not a list.
    #[error(
        "annotation {key} of the pod is not a JSON list of networks: write for example [{{\"name\": \"blue\"}}], or names separated by commas"
    )]
    NotAList {
        /// Which.
        key: &'static str,
        /// The syntax error; none when it is JSON of another type.
        source: Option<serde_json::Error>,
    },
    /// It is too long.
    #[error("annotation {key} of the pod selects {count} networks; the maximum is {ELEMENTS_MAX}")]
    TooMany {
        /// Which.
        key: &'static str,
        /// How many.
        count: usize,
    },
    /// One of its elements.
    #[error("element {number} of annotation {key} of the pod cannot be used")]
    Element {
        /// Of which annotation.
        key: &'static str,
        /// Counted from 1.
        number: usize,
        /// Why not.
        source: NetworkSelectionError,
    },
}

impl AnnotationError {
    /// The CNI code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Configuration(error) => error.code(),
            Self::NotPassed
            | Self::NotAnnotations
            | Self::NotText(_)
            | Self::NotAList { .. }
            | Self::TooMany { .. }
            | Self::Element { .. } => ErrorCode::InvalidConfiguration,
        }
    }
}

/// The networks that a pod lists.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkSelection {
    /// The annotation.
    pub key: &'static str,
    /// In the order of the annotation.
    pub elements: Vec<NetworkSelectionElement>,
}

impl NetworkSelection {
    /// Reads the pod's annotation. `used` are the interface names that the pod has already.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(configuration: &Configuration, used: &BTreeSet<InterfaceName>) -> Result<Self, AnnotationError> {
        let passed = configuration.runtime()?.and_then(|all| all.get(CAPABILITY));
        let empty = Map::new();
        let annotations = match passed.ok_or(AnnotationError::NotPassed)? {
            Value::Null => &empty,
            passed => passed.as_object().ok_or(AnnotationError::NotAnnotations)?,
        };
        let key = if annotations.contains_key(USNET_ANNOTATION) { USNET_ANNOTATION } else { NPWG_ANNOTATION };
        let text = match annotations.get(key) {
            None => "",
            Some(text) => text.as_str().ok_or(AnnotationError::NotText(key))?,
        };
        Ok(Self { key, elements: elements(key, text, used)? })
    }
}

fn elements(
    key: &'static str,
    text: &str,
    used: &BTreeSet<InterfaceName>,
) -> Result<Vec<NetworkSelectionElement>, AnnotationError> {
    let mut used = used.clone();
    let read = |(index, selection): (usize, Result<Value, NetworkSelectionError>)| {
        let number = index + 1;
        let element = selection.and_then(|selection| NetworkSelectionElement::read(selection, number, &mut used));
        element.map_err(|source| AnnotationError::Element { key, number, source })
    };
    selections(key, text)?.into_iter().enumerate().map(read).collect()
}

/// The elements as JSON, from either format. Multus distinguishes the formats by the same
/// characters.
fn selections(key: &'static str, text: &str) -> Result<Vec<Result<Value, NetworkSelectionError>>, AnnotationError> {
    let text = text.trim();
    let all: Vec<_> = if text.is_empty() {
        Vec::new()
    } else if text.contains(['[', '{', '"']) {
        let not_a_list = |source| AnnotationError::NotAList { key, source };
        let list: Value = serde_json::from_str(text).map_err(|source| not_a_list(Some(source)))?;
        let Value::Array(list) = list else { return Err(not_a_list(None)) };
        list.into_iter().map(Ok).collect()
    } else {
        text.split(',').map(NetworkSelectionElement::from_short_form).collect()
    };
    if all.len() > ELEMENTS_MAX { Err(AnnotationError::TooMany { key, count: all.len() }) } else { Ok(all) }
}

#[cfg(test)]
mod tests;
