//! Parses a file of manifests: YAML documents, each an object as the API server accepts it. Pure.
//!
//! Like `kubectl` with strict validation, this rejects unknown fields: a misspelt field would
//! silently have no effect.

use super::locate::line_of;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use usnet_controller::cache::parse;
use usnet_controller::cache::partial_objects::NadObject;
use usnet_controller::cache::{Labels, Nad, NadKey, Network, Uplink};
use usnet_crds::validate::{InvalidField, validate};
use usnet_crds::{UserspaceNetwork, UserspaceUplink, uplink};
use usnet_node::problem::Problem;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document {
    /// The number of the document in the file, as in a [`Problem`].
    pub number: usize,
    /// The line of the first field.
    pub line: Option<usize>,
    pub object: Object,
}

/// The object of a document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Object {
    /// A network, or what is wrong with it.
    Network {
        name: String,
        network: Result<Box<Network>, Vec<Problem>>,
    },
    /// An uplink, or what is wrong with it.
    Uplink {
        name: String,
        uplink: Result<Box<Uplink>, Vec<Problem>>,
    },
    /// A namespace that network selectors can select by its labels.
    Namespace {
        name: String,
        labels: Labels,
    },
    Node {
        name: String,
        labels: Labels,
    },
    Nad {
        key: NadKey,
        nad: Nad,
    },
    /// Any other kind: it is ignored, and reported.
    Other(Problem),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    api_version: String,
    kind: String,
    metadata: ObjectMeta,
}

/// Parses a file.
///
/// # Errors
/// The whole file is invalid: it is not YAML, or a document does not identify its object.
pub(super) fn read(file: &str, text: &str) -> Result<Vec<Document>, Box<Problem>> {
    let documents = || serde_yaml::Deserializer::from_str(text);
    let header = |(index, document)| {
        Option::<Header>::deserialize(document)
            .map_err(|error| Box::new(Problem { document: Some(index + 1), ..unreadable(file, &error) }))
    };
    let headers = documents().enumerate().map(header).collect::<Result<Vec<_>, _>>()?;
    let mut read = Vec::new();
    for ((index, header), document) in headers.into_iter().enumerate().zip(documents()) {
        // Empty documents are skipped, such as the one before the first `---`.
        let Some(header) = header else { continue };
        let place = Place { file, text, index };
        read.push(Document {
            number: index + 1,
            line: line_of(text, index, ""),
            object: place.object(header, document)?,
        });
    }
    Ok(read)
}

#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a str,
    text: &'a str,
    index: usize,
}

impl Place<'_> {
    fn object(self, header: Header, document: serde_yaml::Deserializer<'_>) -> Result<Object, Box<Problem>> {
        let Header { api_version, kind, metadata } = header;
        let labels = metadata.labels.unwrap_or_default();
        let Some(name) = metadata.name.filter(|name| !name.is_empty()) else {
            return Err(Box::new(self.problem("metadata.name", "is missing: set the name of the object")));
        };
        Ok(match (api_version.as_str(), kind.as_str()) {
            ("usnet.dev/v1alpha1", "UserspaceNetwork") => {
                Object::Network { network: self.network(&name, document).map(Box::new), name }
            }
            ("usnet.dev/v1alpha1", "UserspaceUplink") => {
                Object::Uplink { uplink: self.uplink(document).map(Box::new), name }
            }
            ("v1", "Namespace") => Object::Namespace { name, labels },
            ("v1", "Node") => Object::Node { name, labels },
            ("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition") => self.nad(document)?,
            ("usnet.dev/v1alpha1", _) | (_, "UserspaceNetwork" | "NetworkAttachmentDefinition") => {
                let message = format!(
                    "{kind} of {api_version} is not supported by this release: use usnet.dev/v1alpha1 UserspaceNetwork or UserspaceUplink, or k8s.cni.cncf.io/v1 NetworkAttachmentDefinition"
                );
                return Err(Box::new(self.problem("kind", message)));
            }
            _ => Object::Other(self.problem(
                "kind",
                format!("{kind} of {api_version} is ignored: only UserspaceNetwork, UserspaceUplink, NetworkAttachmentDefinition, Namespace and Node are read"),
            )),
        })
    }

    fn network(self, name: &str, document: serde_yaml::Deserializer<'_>) -> Result<Network, Vec<Problem>> {
        let of_network = |problem| Problem { network: Some(name.to_owned()), ..problem };
        let network: UserspaceNetwork = self
            .strictly(document)
            .map_err(|problems: Vec<Problem>| problems.into_iter().map(of_network).collect::<Vec<_>>())?;
        let valid = validate(&network).map_err(|invalid| {
            let problem =
                |invalid: &InvalidField| of_network(self.problem(&invalid.field, invalid.problem.to_string()));
            invalid.problems.iter().map(problem).collect::<Vec<_>>()
        })?;
        // If the file was copied from a cluster, these fields describe the object there.
        let metadata = ObjectMeta { uid: None, generation: None, deletion_timestamp: None, ..network.metadata };
        Ok(Network { finalizer: Some(0), ..parse::network_with_spec(&metadata, Ok(valid), None) })
    }

    fn uplink(self, document: serde_yaml::Deserializer<'_>) -> Result<Uplink, Vec<Problem>> {
        let mut uplink: UserspaceUplink = self.strictly(document)?;
        uplink.metadata.generation = None;
        let valid = uplink::validate::validate(&uplink).map_err(|invalid| {
            let problem = |invalid: &InvalidField| self.problem(&invalid.field, invalid.problem.to_string());
            invalid.problems.iter().map(problem).collect::<Vec<_>>()
        })?;
        let (uid, generation) = (String::new(), 0);
        Ok(Uplink { uid, generation, deleted: None, finalizer: Some(0), spec: Ok(valid), status: None })
    }

    fn nad(self, document: serde_yaml::Deserializer<'_>) -> Result<Object, Box<Problem>> {
        let read: Result<NadObject, _> = NadObject::deserialize(document);
        let mut nad = read.map_err(|error| Box::new(self.unreadable(&error)))?;
        // kubectl without --namespace uses the same namespace.
        nad.metadata.namespace.get_or_insert_with(|| "default".to_owned());
        let (key, nad) = parse::nad(&nad);
        Ok(Object::Nad { key, nad })
    }

    fn strictly<T: DeserializeOwned>(self, document: serde_yaml::Deserializer<'_>) -> Result<T, Vec<Problem>> {
        let mut unknown = Vec::new();
        let object = serde_ignored::deserialize(document, |path| unknown.push(path.to_string()));
        let object = object.map_err(|error| vec![self.unreadable(&error)])?;
        // The library writes an option as a field `?`, and reports kind and version as unknown.
        let unknown = unknown.into_iter().map(|field| field.replace(".?", ""));
        let unknown: Vec<_> = unknown.filter(|field| !matches!(field.as_str(), "apiVersion" | "kind")).collect();
        if unknown.is_empty() {
            return Ok(object);
        }
        let message = "is not a known field: correct its name, or remove it";
        Err(unknown.iter().map(|field| self.problem(field, message)).collect())
    }

    fn problem(self, field: &str, message: impl Into<String>) -> Problem {
        Problem {
            file: self.file.to_owned(),
            document: Some(self.index + 1),
            line: line_of(self.text, self.index, field),
            field: field.to_owned(),
            network: None,
            message: message.into(),
        }
    }

    fn unreadable(self, error: &serde_yaml::Error) -> Problem {
        Problem { document: Some(self.index + 1), ..unreadable(self.file, error) }
    }
}

/// Converts an error of the library, whose message has the form `field: what at line 3 column 4`.
fn unreadable(file: &str, error: &serde_yaml::Error) -> Problem {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    let is_field = |field: &str| field.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".[]-_/".contains(&byte));
    let (field, message) = match text.split_once(": ") {
        Some((field, message)) if is_field(field) => (field, message),
        _ => ("", text),
    };
    Problem {
        file: file.to_owned(),
        document: None,
        line: error.location().map(|location| location.line()),
        field: field.to_owned(),
        network: None,
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests;
