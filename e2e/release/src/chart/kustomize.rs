//! What `kubectl kustomize` makes of parts of `config/`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::commands::{self, CommandError};

/// Kinds of `config/` that are in no namespace. kustomize gives all objects of a kind that it does
/// not know a namespace.
const WITHOUT_NAMESPACE: [&str; 6] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "Namespace",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
];

/// Why `config/` could not be rendered.
#[derive(Debug, thiserror::Error)]
pub enum KustomizeError {
    /// A folder is missing, or the kustomization could not be written.
    #[error("cannot render {0}")]
    File(PathBuf, #[source] io::Error),
    /// `kubectl kustomize` failed.
    #[error("cannot render {folders}")]
    Kubectl {
        /// What was to be rendered.
        folders: String,
        /// What kubectl said.
        #[source]
        source: CommandError,
    },
    /// It printed no YAML, or an object without a name.
    #[error("kubectl kustomize printed an object that cannot be used: {0}")]
    Output(String),
}

/// Folders of `config/` that are applied together.
#[derive(Clone, Copy, Debug)]
pub struct Kustomization<'a> {
    /// The checkout's folder `config`.
    pub config: &'a Path,
    /// Folders with kustomizations.
    pub resources: &'a [&'a str],
    /// Folders with components.
    pub components: &'a [&'a str],
}

impl Kustomization<'_> {
    /// The objects by kind and name.
    ///
    /// # Errors
    /// When kubectl fails.
    pub fn render(&self) -> Result<BTreeMap<String, Value>, KustomizeError> {
        objects(&self.render_text()?)
    }

    /// The objects as kubectl prints them.
    ///
    /// # Errors
    /// When kubectl fails.
    pub fn render_text(&self) -> Result<String, KustomizeError> {
        let config = self.config.canonicalize().map_err(|source| KustomizeError::File(self.config.into(), source))?;
        let failed = |source| KustomizeError::File(config.clone(), source);
        let folder = tempfile::tempdir().map_err(failed)?;
        let place = folder.path().canonicalize().map_err(failed)?;
        // kustomize accepts no absolute paths.
        let up: PathBuf = place.components().skip(1).map(|_| Path::new("..")).collect();
        let up = up.join(config.strip_prefix("/").unwrap_or(&config));
        let paths = |folders: &[&str]| folders.iter().map(|folder| up.join(folder)).collect::<Vec<_>>();
        let kustomization = json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": paths(self.resources),
            "components": paths(self.components),
        });
        fs::write(place.join("kustomization.yaml"), kustomization.to_string()).map_err(failed)?;
        let output = commands::run(commands::program("kubectl").arg("kustomize").arg(&place), b"");
        let output = output.map_err(|source| KustomizeError::Kubectl {
            folders: [self.resources, self.components].concat().join(", "),
            source,
        })?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }
}

/// The objects of a text with several documents, by kind and name.
///
/// # Errors
/// When it is not YAML or an object has no name.
pub fn objects(text: &str) -> Result<BTreeMap<String, Value>, KustomizeError> {
    let mut objects = BTreeMap::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        let mut object = Value::deserialize(document).map_err(|error| KustomizeError::Output(error.to_string()))?;
        if object.is_null() {
            continue;
        }
        let (Some(kind), Some(name)) = (text_at(&object, "/kind"), text_at(&object, "/metadata/name")) else {
            return Err(KustomizeError::Output(object.to_string()));
        };
        let key = format!("{kind}/{name}");
        let has_no_namespace = WITHOUT_NAMESPACE.contains(&kind);
        if let Some(metadata) =
            object.pointer_mut("/metadata").and_then(Value::as_object_mut).filter(|_| has_no_namespace)
        {
            metadata.remove("namespace");
        }
        objects.insert(key, object);
    }
    Ok(objects)
}

fn text_at<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer).and_then(Value::as_str)
}
