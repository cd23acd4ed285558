//! The pod's annotation with its network selection elements, as the runtime passes it. The grammar
//! is that of the Network Plumbing Working Group's specification (v1.3, section 4.1), with the
//! `namespace/name@interface` of Multus.

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
/// The maximum number of elements; more are considered a mistake. The interfaces are attached one
/// after the other, and kubelet's four minutes for a sandbox must suffice for all of them.
const ELEMENTS_MAX: usize = 64;

/// In all errors `key` is the name of the annotation.
#[derive(Debug, thiserror::Error)]
pub enum AnnotationError {
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    #[error(
        "the container runtime did not pass the pod's annotations: write \"capabilities\": {{\"{CAPABILITY}\": true}} beside \"networks\" in the list of plugins; containerd and CRI-O support it"
    )]
    NotPassed,
    #[error("\"runtimeConfig.{CAPABILITY}\" must be an object of annotations")]
    NotAnnotations,
    #[error("annotation {0} must be text")]
    NotText(&'static str),
    #[error(
        "annotation {key} of the pod is not a JSON list of networks: write for example [{{\"name\": \"blue\"}}], or names separated by commas"
    )]
    NotAList {
        key: &'static str,
        /// The syntax error; none when it is JSON of another type.
        source: Option<serde_json::Error>,
    },
    #[error("annotation {key} of the pod selects {count} networks; the maximum is {ELEMENTS_MAX}")]
    TooMany { key: &'static str, count: usize },
    #[error("element {number} of annotation {key} of the pod cannot be used")]
    Element {
        key: &'static str,
        /// The position of the element, counted from 1.
        number: usize,
        source: NetworkSelectionError,
    },
}

impl AnnotationError {
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
    /// The name of the annotation.
    pub key: &'static str,
    /// The elements in the order of the annotation.
    pub elements: Vec<NetworkSelectionElement>,
}

impl NetworkSelection {
    /// Reads the pod's annotation. `used` are the interface names that the pod has already.
    pub fn read(configuration: &Configuration, used: &BTreeSet<InterfaceName>) -> Result<Self, AnnotationError> {
        let passed = configuration.runtime_config()?.and_then(|all| all.get(CAPABILITY));
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

/// The elements as JSON, from either format. The formats are distinguished by the same characters
/// as in Multus.
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
mod tests {
    use super::*;
    use serde_json::json;

    /// The elements of an annotation, as `network@interface`, or the chain of errors.
    fn read(annotations: &Value) -> Result<Vec<String>, String> {
        let configuration =
            json!({"name": "pods", "networks": "FromPodAnnotations", "runtimeConfig": {CAPABILITY: annotations}});
        let configuration = Configuration::parse(configuration.to_string().as_bytes()).unwrap();
        let used = ["eth0", "lo"].map(|name| name.parse().unwrap()).into();
        let observed = |element: &NetworkSelectionElement| format!("{}@{}", element.network, element.interface);
        match NetworkSelection::read(&configuration, &used) {
            Ok(networks) => Ok(networks.elements.iter().map(observed).collect()),
            Err(error) => Err(format!("{error}: {}", crate::error::causes(&error))),
        }
    }

    fn standard(text: &str) -> Result<Vec<String>, String> {
        read(&json!({NPWG_ANNOTATION: text}))
    }

    #[test]
    fn both_forms_are_equivalent_and_interfaces_are_numbered_as_by_multus() {
        let expected = vec!["blue@net1".to_owned(), "green@data".to_owned(), "blue@net3".to_owned()];
        assert_eq!(standard(" blue , db/green@data,blue").unwrap(), expected);
        let list = r#"[{"name": "blue"}, {"name": "green", "namespace": "db", "interface": "data"}, {"name": "blue", "interface": null}]"#;
        assert_eq!(standard(list).unwrap(), expected);
        let multus = r#"[{"name": "blue", "interfaceRequest": "old", "example.org/colour": "red"}]"#;
        assert_eq!(standard(multus).unwrap(), ["blue@old"]);
    }

    #[test]
    fn a_pod_that_lists_nothing_gets_nothing() {
        for annotations in
            [json!(null), json!({}), json!({NPWG_ANNOTATION: ""}), json!({NPWG_ANNOTATION: " [] ", "a": "b"})]
        {
            assert_eq!(read(&annotations).unwrap(), Vec::<String>::new());
        }
    }

    #[test]
    fn usnets_annotation_takes_precedence_over_the_standard_one() {
        assert_eq!(read(&json!({NPWG_ANNOTATION: "red", USNET_ANNOTATION: "blue"})).unwrap(), ["blue@net1"]);
        assert_eq!(read(&json!({NPWG_ANNOTATION: "red", USNET_ANNOTATION: ""})).unwrap(), Vec::<String>::new());
        assert!(read(&json!({NPWG_ANNOTATION: "red", USNET_ANNOTATION: "{"})).unwrap_err().contains(USNET_ANNOTATION));
    }

    #[test]
    fn errors_name_the_annotation_and_the_element() {
        let cases: [(&str, &[&str]); 14] = [
            ("[{", &["not a JSON list", NPWG_ANNOTATION]),
            ("{\"name\": \"blue\"}", &["not a JSON list"]),
            ("[\"blue\"]", &["element 1"]),
            ("[{\"name\": \"blue\"}, {\"namespace\": \"db\"}]", &["element 2", "name"]),
            ("blue,,green", &["element 2", "format is not valid"]),
            ("db/x/blue", &["element 1", "DNS label"]),
            ("../blue", &["element 1", "DNS label"]),
            ("[{\"name\": \"../../etc\"}]", &["element 1", "DNS label"]),
            ("blue@", &["element 1"]),
            ("blue@a/b", &["element 1", "\"a/b\""]),
            ("blue@eth0", &["element 1", "already has an interface eth0"]),
            ("blue@net2,blue", &["element 2", "already has an interface net2"]),
            ("[{\"name\": \"blue\", \"colour\": \"red\"}]", &["element 1", "\"colour\" is not known"]),
            ("[{\"name\": \"blue\", \"ips\": \"10.0.0.1\"}]", &["element 1", "expected a sequence"]),
        ];
        for (text, parts) in cases {
            let reported = standard(text).unwrap_err();
            assert!(parts.iter().all(|part| reported.contains(part)), "{text}: {reported}");
        }
        let long = "x".repeat(300);
        assert!(standard(&long).unwrap_err().contains("DNS label"));
        assert!(standard(&["blue"; 65].join(",")).unwrap_err().contains("65 networks"));
        assert_eq!(standard(&["blue"; 20].join(",")).unwrap().len(), 20);
    }

    #[test]
    fn a_runtime_that_passes_no_annotations_gets_advice() {
        let without = Configuration::parse(br#"{"name": "pods", "runtimeConfig": {"mac": "x"}}"#).unwrap();
        assert!(
            NetworkSelection::read(&without, &BTreeSet::new()).unwrap_err().to_string().contains("\"capabilities\"")
        );
        assert!(read(&json!([])).unwrap_err().contains("object"));
        assert!(read(&json!({NPWG_ANNOTATION: 1})).unwrap_err().contains("text"));
    }
}
