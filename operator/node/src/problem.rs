//! Problems of a folder of manifests.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Something in a folder of manifests that has no effect. The node keeps its previous state of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The name of the file in the folder; empty if the problem is about the folder.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The number of the document in the file, counted from 1; none if the whole file cannot be
    /// used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<usize>,
    /// The line of the file, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The field, such as `spec.bridge.mtu`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// The network that the problem is about, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// What is wrong, and what to do.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut place = Vec::new();
        if !self.file.is_empty() {
            place.push(self.file.clone());
        }
        place.extend(self.document.map(|document| format!("document {document}")));
        place.extend(self.line.map(|line| format!("line {line}")));
        if !place.is_empty() {
            write!(formatter, "{}: ", place.join(", "))?;
        }
        if !self.field.is_empty() {
            write!(formatter, "{}: ", self.field)?;
        }
        formatter.write_str(&self.message)
    }
}
