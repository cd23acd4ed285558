//! The answer.

use crate::kubectl::model::Gap;
use serde::Serialize;

/// What is known of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Outcome {
    /// Packets pass.
    Passed,
    /// They do not.
    Failed,
    /// It could not be read, or no traffic shows it.
    Unknown,
}

/// A step of the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Step {
    /// Whether packets pass.
    pub outcome: Outcome,
    /// On which node; empty between nodes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node: String,
    /// What was seen.
    pub what: String,
}

/// Where the way ends, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Conclusion {
    /// In one word, in CamelCase.
    pub cause: String,
    /// Why, in a sentence.
    pub why: String,
    /// What to do; empty if nothing is wrong.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remedy: String,
}

/// Nothing is wrong.
pub(super) const PASSES: &str = "Passes";
/// Nothing is wrong as far as is known.
pub(super) const NOTHING_FOUND: &str = "NothingFound";

impl Conclusion {
    pub(super) fn new(cause: &str, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { cause: cause.to_owned(), why: why.into(), remedy: remedy.into() }
    }

    /// No step of the way was found to fail.
    pub(super) fn is_fine(&self) -> bool {
        [PASSES, NOTHING_FOUND].contains(&self.cause.as_str())
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// The end that sends.
    pub from: String,
    /// The end that receives.
    pub to: String,
    /// The network; none if the pods have none in common.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// The steps, in the order of the packets.
    pub steps: Vec<Step>,
    /// The first that fails.
    pub conclusion: Conclusion,
    /// What could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<Gap>,
}
