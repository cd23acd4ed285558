//! The result of an evaluation.

use crate::events::EventRecord;
use crate::write::Write;
use std::collections::BTreeSet;

/// The result of evaluating users' NADs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LegacyEvaluation {
    /// Networks to create, restore or delete.
    pub writes: Vec<Write>,
    /// Events that apply now, each for its NAD. [`super::EventDeduplicator`] drops those already
    /// reported.
    pub records: Vec<EventRecord>,
    /// Namespaces with an unreadable NAD: it may request any of their networks.
    pub unreadable: BTreeSet<String>,
}
