//! `usnet node bundle`: the files of a node, for a bundle of diagnostics.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The files of a node.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct NodeBundle {
    /// Texts by the names of files.
    pub files: BTreeMap<String, String>,
    /// What could not be read, and why.
    #[serde(default)]
    pub errors: BTreeMap<String, String>,
}
