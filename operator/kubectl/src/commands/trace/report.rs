//! The report.

use crate::model::Unread;
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Outcome {
    Passed,
    Failed,
    /// The state could not be read, or no traffic shows it.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Step {
    pub outcome: Outcome,
    /// Empty between nodes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node: String,
    /// What was observed, for users.
    pub what: String,
}

/// Where the path is broken, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Conclusion {
    /// One word in CamelCase.
    pub cause: String,
    pub why: String,
    /// Empty if no step fails.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remedy: String,
}

/// The cause if every step passes.
pub(super) const PASSES: &str = "Passes";
/// The cause if no step fails, and some are unknown.
pub(super) const NOTHING_FOUND: &str = "NothingFound";

impl Conclusion {
    pub(super) fn new(cause: &str, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { cause: cause.to_owned(), why: why.into(), remedy: remedy.into() }
    }

    /// Whether no step fails.
    pub(super) fn is_ok(&self) -> bool {
        [PASSES, NOTHING_FOUND].contains(&self.cause.as_str())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// The sending endpoint.
    pub from: String,
    /// The receiving endpoint.
    pub to: String,
    /// `None` if the pods have no network in common.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// The steps, in the order in which packets pass them.
    pub steps: Vec<Step>,
    /// Concerns the first step that fails.
    pub conclusion: Conclusion,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<Unread>,
}
