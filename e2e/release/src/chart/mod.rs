//! The Helm chart, made from `config/`: what kustomize renders with and without a component is
//! compared, and the difference becomes a condition of the chart. So the chart has no manifests of
//! its own, and cannot differ from `config/`.
//!
//! - [`options`] says which value of the chart stands for which component.
//! - [`tree`] joins the renderings of an object.
//! - [`edits`] puts values in the place of names, such as that of the image.
//! - [`template`] writes an object as a template.

pub mod edits;
pub mod kustomize;
pub mod options;
pub mod template;
pub mod tree;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use kustomize::{Kustomization, KustomizeError};
use options::{OPTIONS, Switch};
use tree::{Conflict, Guard, Slot, Tree};

/// What is taken from `config/chart` as it is, except for versions and the image's name.
const SOURCES: [&str; 7] = [
    "Chart.yaml",
    "values.yaml",
    "values.schema.json",
    "templates/_helpers.tpl",
    "templates/checks.yaml",
    "templates/NOTES.txt",
    "templates/test.yaml",
];

/// Why the chart could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ChartError {
    /// `config/` could not be rendered.
    #[error(transparent)]
    Kustomize(#[from] KustomizeError),
    /// Two options of the chart change the same place differently.
    #[error("the option {option} of the chart changes {object} where another option changes it, too: {conflict}")]
    Conflict {
        /// The value of the chart.
        option: &'static str,
        /// Kind and name.
        object: String,
        /// Where.
        conflict: Conflict,
    },
    /// A file of `config/chart` could not be read.
    #[error("cannot read {0}")]
    Source(PathBuf, #[source] io::Error),
    /// A place that a value of the chart stands for is not there.
    #[error("{0} is not in config/; correct e2e/release/src/chart/edits.rs")]
    NoPlace(String),
}

/// One chart.
#[derive(Clone, Copy, Debug)]
pub struct Chart<'a> {
    /// The checkout's folder `config`.
    pub config: &'a Path,
    /// Name of the image without a tag.
    pub image: &'a str,
    /// Version of the chart and of usnet.
    pub version: &'a str,
    /// Where the release is published.
    pub url: Option<&'a str>,
}

impl Chart<'_> {
    /// The files of the chart by their paths in it.
    ///
    /// # Errors
    /// When `config/` cannot be rendered, or its components do not fit together.
    pub fn files(&self) -> Result<BTreeMap<String, String>, ChartError> {
        let mut files = BTreeMap::new();
        for name in SOURCES {
            let path = self.config.join("chart").join(name);
            let text = fs::read_to_string(&path).map_err(|source| ChartError::Source(path, source))?;
            files.insert(name.to_owned(), self.fill_in(&text));
        }
        for (name, mut slot) in self.objects()? {
            edits::apply(&name, &mut slot, self.version)?;
            files.insert(format!("templates/{}.yaml", file_name(&name)), template::write(&slot));
        }
        Ok(files)
    }

    fn fill_in(&self, text: &str) -> String {
        text.replace("version: 0.0.0", &format!("version: {}", self.version))
            .replace("appVersion: \"0.0.0\"", &format!("appVersion: \"{}\"", self.version))
            .replace("repository: usnet", &format!("repository: {}", self.image))
            .replace("image: usnet:0.0.0", &format!("image: {}:{}", self.image, self.version))
            .replace("# home: URL\n", &self.url.map_or_else(String::new, |url| format!("home: {url}\n")))
    }

    /// All objects by kind and name, with conditions.
    fn objects(&self) -> Result<BTreeMap<String, Slot>, ChartError> {
        let base = self.render(&[])?;
        let mut objects: BTreeMap<String, Slot> =
            base.iter().map(|(name, object)| (name.clone(), tree::always(object))).collect();
        for option in &OPTIONS {
            let guard = Guard { value: option.value, is_on: option.switch == Switch::Adds };
            let with_included = match option.included() {
                [] => None,
                folders => Some(self.render(folders)?),
            };
            let without = with_included.as_ref().unwrap_or(&base);
            for (name, object) in self.render(&[option.folder])? {
                match (without.get(&name), objects.get_mut(&name)) {
                    (Some(before), Some(slot)) => tree::merge(slot, before, &object, &guard)
                        .map_err(|conflict| ChartError::Conflict { option: option.value, object: name, conflict })?,
                    _ => drop(objects.insert(name, vec![(vec![guard.clone()], Tree::from(&object))])),
                }
            }
        }
        Ok(objects)
    }

    fn render(&self, components: &[&str]) -> Result<BTreeMap<String, Value>, ChartError> {
        let objects = Kustomization { config: self.config, resources: &["base"], components }.render()?;
        // Helm makes no namespace for itself.
        Ok(objects.into_iter().filter(|(name, _)| !name.starts_with("Namespace/")).collect())
    }
}

/// `ClusterRole/usnet-agent` is in `clusterrole-usnet-agent.yaml`.
fn file_name(object: &str) -> String {
    object.to_lowercase().replace(['/', '.'], "-")
}
