//! Reads manifests from files with YAML or JSON (IO).

use crate::error::Error;
use crate::output::line;
use serde::Deserialize;
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The extensions of the files of a folder that are read, as by kubectl.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

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

/// Where manifests come from, as for `kubectl apply`.
#[derive(Debug, Clone, clap::Args)]
#[group(required = true, multiple = true)]
pub(crate) struct Sources {
    /// A file of manifests, a folder of such files, or - for standard input. May be repeated.
    #[arg(short, long = "filename", value_name = "FILE")]
    filenames: Vec<PathBuf>,
    /// Also read the folders in the folders of --filename.
    #[arg(short = 'R', long, requires = "filenames")]
    recursive: bool,
    /// A folder with a kustomization, which kubectl builds.
    #[arg(short, long, value_name = "FOLDER", conflicts_with = "filenames")]
    kustomize: Option<PathBuf>,
}

impl Sources {
    /// Reads manifests in their order. A source without objects is an error.
    pub(super) fn read(&self) -> Result<Vec<Manifest>, Error> {
        let mut manifests = Vec::new();
        for source in &self.filenames {
            let failed = |problem: String| Error::File { path: source.clone(), problem };
            let of_source = self.of_file(source)?;
            if of_source.is_empty() {
                return Err(failed("it has no objects".to_owned()));
            }
            manifests.extend(of_source);
        }
        if let Some(folder) = &self.kustomize {
            let failed = |problem: String| Error::File { path: folder.clone(), problem };
            let text = kustomize("kubectl", folder).map_err(failed)?;
            manifests.extend(parse(&text).map_err(failed)?);
        }
        Ok(manifests)
    }

    fn of_file(&self, source: &Path) -> Result<Vec<Manifest>, Error> {
        let mut manifests = Vec::new();
        for file in self.files(source)? {
            let failed = |problem: String| Error::File { path: file.clone(), problem };
            let text = text_of(&file).map_err(|error| failed(error.to_string()))?;
            manifests.extend(parse(&text).map_err(failed)?);
        }
        Ok(manifests)
    }

    /// Returns the files of a source: itself, or those of a folder, sorted by name.
    fn files(&self, source: &Path) -> Result<Vec<PathBuf>, Error> {
        let failed = |problem: String| Error::File { path: source.to_owned(), problem };
        let is_url = ["http://", "https://"].iter().any(|scheme| source.to_string_lossy().starts_with(scheme));
        if is_url {
            let problem =
                "nothing is downloaded. Read it before you apply it: curl -fsSL URL | kubectl usnet plan -f -";
            return Err(failed(problem.to_owned()));
        }
        if !source.is_dir() {
            return Ok(vec![source.to_owned()]);
        }
        let mut entries = std::fs::read_dir(source)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>())
            .map_err(|error| failed(error.to_string()))?;
        entries.sort();
        let mut files = Vec::new();
        for entry in entries {
            if entry.is_dir() {
                files.extend(if self.recursive { self.files(&entry)? } else { Vec::new() });
            } else if entry.extension().is_some_and(|it| EXTENSIONS.iter().any(|extension| it == *extension)) {
                files.push(entry);
            }
        }
        Ok(files)
    }
}

/// Returns what `kubectl kustomize` builds of a folder.
fn kustomize(kubectl: &str, folder: &Path) -> Result<String, String> {
    let output = Command::new(kubectl).arg("kustomize").arg(folder).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{kubectl} kustomize cannot be run ({error}): put kubectl on the PATH, or use kustomize build FOLDER | kubectl usnet plan -f -"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(line(&String::from_utf8_lossy(&output.stderr)))
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
    Ok(manifests)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(sources: &Sources) -> Result<Vec<String>, Error> {
        let name = |manifest| match manifest {
            Manifest::Other(name) => name,
            Manifest::Network(network) => network.name,
        };
        sources.read().map(|manifests| manifests.into_iter().map(name).collect())
    }

    #[test]
    fn folders_are_read_as_kubectl_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, pod: &str| {
            let text = format!("kind: Pod\nmetadata: {{name: {pod}}}\n");
            fs::write(folder.path().join(name), text).unwrap();
        };
        fs::create_dir(folder.path().join("b")).unwrap();
        fs::create_dir(folder.path().join("empty")).unwrap();
        for (name, pod) in [("c.yaml", "c"), ("a.yml", "a"), ("b/b.json", "b"), ("notes.txt", "x"), ("z", "z")] {
            write(name, pod);
        }
        fs::write(folder.path().join("comment.yaml"), "# nothing\n").unwrap();
        let sources = |names: &[&str], recursive| Sources {
            filenames: names.iter().map(|name| folder.path().join(name)).collect(),
            recursive,
            kustomize: None,
        };
        assert_eq!(names(&sources(&[""], false)).unwrap(), ["Pod a", "Pod c"]);
        assert_eq!(names(&sources(&[""], true)).unwrap(), ["Pod a", "Pod b", "Pod c"]);
        assert_eq!(names(&sources(&["z", "b"], false)).unwrap(), ["Pod z", "Pod b"], "a file may have any name");
        for empty in ["empty", "comment.yaml"] {
            let error = names(&sources(&[empty], false)).unwrap_err();
            assert!(error.exit_status() == 7 && error.sentence().ends_with("it has no objects"), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_read_says_what_to_do() {
        let url = Sources { filenames: vec!["https://example.org/a.yaml".into()], recursive: false, kustomize: None };
        assert!(names(&url).unwrap_err().sentence().contains("kubectl usnet plan -f -"));
        let error = kustomize("/nowhere/kubectl", Path::new("."));
        assert!(error.as_ref().is_err_and(|error| error.contains("put kubectl on the PATH")), "{error:?}");
    }
}
