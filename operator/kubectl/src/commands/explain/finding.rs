//! The report: findings, each a cause with its remedy.

use crate::model::Unread;
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use usnet_crds::userspace_engine::preparation::Step;

/// Whether a finding keeps the explained object from working.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Severity {
    /// The object is not Ready, does not run, or one of its interfaces is not attached.
    Error,
    /// usnet has done its part; a program or a namespace has not.
    Warning,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Finding {
    /// One word in CamelCase.
    pub cause: String,
    pub severity: Severity,
    /// The part of the object, such as `net1, network blue`; empty for the whole object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subject: String,
    pub why: String,
    pub remedy: String,
}

impl Finding {
    /// Creates an error that concerns the whole object.
    pub(crate) fn new(cause: &str, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            cause: cause.to_owned(),
            severity: Severity::Error,
            subject: String::new(),
            why: why.into(),
            remedy: remedy.into(),
        }
    }

    #[must_use]
    pub(crate) fn warning(self) -> Self {
        Self { severity: Severity::Warning, ..self }
    }

    #[must_use]
    pub(crate) fn warning_if(self, is_warning: bool) -> Self {
        if is_warning { self.warning() } else { self }
    }

    #[must_use]
    pub(crate) fn of(self, subject: impl Into<String>) -> Self {
        Self { subject: subject.into(), ..self }
    }
}

/// The number of columns of [`Parts`].
pub(crate) const COLUMNS: usize = 5;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// The explained object, such as `pod web/dpdk-0`.
    pub subject: String,
    pub state: String,
    /// What the object asks for, each in one sentence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asks_for: Vec<String>,
    /// What the interfaces of a pod may send from, where that is checked, each in one sentence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
    pub parts: Parts,
    /// Empty if no problem was found.
    pub findings: Vec<Finding>,
    /// What an administrator has to do on the node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preparation: Vec<Step>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<Unread>,
}

impl Report {
    /// Whether there are no errors; there may be warnings.
    pub(crate) fn is_ok(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity == Severity::Warning)
    }
}

/// The parts of an object as a table, whose rows are objects in JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    pub heads: [&'static str; COLUMNS],
    pub rows: Vec<[String; COLUMNS]>,
}

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Row<'a>(&'a [&'static str; COLUMNS], &'a [String; COLUMNS]);
        impl Serialize for Row<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(Some(COLUMNS))?;
                for (head, cell) in self.0.iter().zip(self.1) {
                    map.serialize_entry(&head.to_lowercase(), cell)?;
                }
                map.end()
            }
        }
        let mut list = serializer.serialize_seq(Some(self.rows.len()))?;
        for row in &self.rows {
            list.serialize_element(&Row(&self.heads, row))?;
        }
        list.end()
    }
}
