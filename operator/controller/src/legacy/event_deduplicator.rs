//! Reports each event of a NAD once.

use crate::events::EventRecord;
use std::collections::BTreeSet;

/// The events that were reported and still apply.
#[derive(Debug, Clone, Default)]
pub struct EventDeduplicator(BTreeSet<(String, String, String)>);

impl EventDeduplicator {
    /// Returns the events that were not reported yet. Events that no longer apply are dropped, and
    /// reported again when they recur.
    pub fn filter_new(&mut self, records: Vec<EventRecord>) -> Vec<EventRecord> {
        let identity = |record: &EventRecord| {
            let object = record.regarding.uid.clone().unwrap_or_default();
            (object, record.reason.clone(), record.message.clone())
        };
        let now: BTreeSet<_> = records.iter().map(identity).collect();
        let new = records.into_iter().filter(|record| !self.0.contains(&identity(record))).collect();
        self.0 = now;
        new
    }
}
