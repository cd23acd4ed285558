//! A cause with its remedy, and the answer.

use crate::kubectl::model::Gap;
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};

/// What a finding says of the object that is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Severity {
    /// It is not Ready, does not run, or an interface of it is not attached.
    Error,
    /// usnet has done its part. The rest is that of a program, or of the namespace that refuses it.
    Warning,
}

/// Why something does not work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Finding {
    /// In one word, in CamelCase.
    pub cause: String,
    /// Whether the object itself fails by it.
    pub severity: Severity,
    /// What it concerns, such as `net1 (network blue)`; empty for all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// Why, in a sentence.
    pub why: String,
    /// What to do.
    pub remedy: String,
}

impl Finding {
    /// A finding of the whole object.
    pub(crate) fn new(cause: &str, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            cause: cause.to_owned(),
            severity: Severity::Error,
            subject: String::new(),
            why: why.into(),
            remedy: remedy.into(),
        }
    }

    /// The same as a warning.
    #[must_use]
    pub(crate) fn warning(self) -> Self {
        Self { severity: Severity::Warning, ..self }
    }

    /// The same as a warning, if this holds.
    #[must_use]
    pub(crate) fn warning_if(self, is_warning: bool) -> Self {
        if is_warning { self.warning() } else { self }
    }

    /// The same of a part of it.
    #[must_use]
    pub(crate) fn of(self, subject: impl Into<String>) -> Self {
        Self { subject: subject.into(), ..self }
    }
}

/// The columns of [`Report::rows`].
pub(crate) const COLUMNS: usize = 5;

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// What is explained, such as `pod web/dpdk-0`.
    pub subject: String,
    /// Its state in a sentence.
    pub state: String,
    /// The parts of it.
    pub parts: Parts,
    /// Why it does not work; empty if it does, as far as is known.
    pub findings: Vec<Finding>,
    /// What could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<Gap>,
}

impl Report {
    /// Whether the object itself works: there are warnings at most.
    pub(crate) fn is_fine(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity == Severity::Warning)
    }
}

/// A table, whose rows are objects in JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The names of the columns.
    pub heads: [&'static str; COLUMNS],
    /// The rows.
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
