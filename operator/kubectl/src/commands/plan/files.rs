//! Reads manifests from files with YAML or JSON (IO).

use crate::error::Error;
use serde::Deserialize;
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Manifest {
    Network(NetworkManifest),
    /// Any other object, as `kind name`; it does not change nodes by itself.
    Other(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct NetworkManifest {
    pub name: String,
    pub object: Value,
}

/// Reads files in their order. A file without objects is an error.
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

/// Returns the objects of a text, including the items of lists.
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
            // There can be an empty document before the first `---` or after the last.
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
