//! Files of manifests: YAML documents, or JSON, which is YAML as well (IO).

use crate::kubectl::error::Error;
use serde::Deserialize;
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};

/// An object of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Manifest {
    /// A network.
    Network(NetworkManifest),
    /// Any other, as `kind name`: it changes nothing on nodes by itself.
    Other(String),
}

/// The manifest of a network, with all that is written in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NetworkManifest {
    /// Its name.
    pub name: String,
    /// The whole object.
    pub object: Value,
}

/// Reads files in their order.
///
/// # Errors
/// When one cannot be read, is not YAML, or has no object.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<Manifest>, Error> {
    let mut manifests = Vec::new();
    for file in files {
        let failed = |problem: String| Error::File { path: file.clone(), problem };
        let text = text_of(file).map_err(|error| failed(error.to_string()))?;
        manifests.extend(parse(&text).map_err(failed)?);
    }
    Ok(manifests)
}

fn text_of(file: &Path) -> std::io::Result<String> {
    if file != Path::new("-") {
        return std::fs::read_to_string(file);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}

/// The objects of a text, those of lists among them.
pub(super) fn parse(text: &str) -> Result<Vec<Manifest>, String> {
    let mut manifests = Vec::new();
    for (index, document) in serde_yaml::Deserializer::from_str(text).enumerate() {
        let object =
            Option::<Value>::deserialize(document).map_err(|error| format!("document {}: {error}", index + 1))?;
        match object {
            Some(Value::Object(mut list)) if list.get("kind").is_some_and(|kind| kind == "List") => {
                let items = list.remove("items").unwrap_or_default();
                for item in items.as_array().into_iter().flatten() {
                    manifests.push(manifest(index, item.clone())?);
                }
            }
            Some(object) => manifests.push(manifest(index, object)?),
            // An empty document, as there is one before the first `---` or after the last.
            None => {}
        }
    }
    if manifests.is_empty() { Err("it has no objects".to_owned()) } else { Ok(manifests) }
}

fn manifest(index: usize, object: Value) -> Result<Manifest, String> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let (Some(kind), Some(name)) = (text("/kind"), text("/metadata/name")) else {
        return Err(format!("document {}: kind or metadata.name is missing", index + 1));
    };
    let is_network = kind == "UserspaceNetwork" && text("/apiVersion").as_deref() == Some("usnet.dev/v1alpha1");
    Ok(if is_network {
        Manifest::Network(NetworkManifest { name, object })
    } else {
        Manifest::Other(format!("{kind} {name}"))
    })
}
