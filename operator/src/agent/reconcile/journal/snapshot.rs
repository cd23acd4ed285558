//! The journal, as the reconciler of one engine needs it.

use crate::agent::reconcile::plan::JournalView;
use crate::display::ErrorChain;
use std::collections::BTreeSet;
use usnet_crds::EngineKind;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::journal::{Error, Journal, Records};

/// The attachments of one engine, as they were read.
#[derive(Debug)]
pub(crate) struct JournalSnapshot {
    /// The records that could be read.
    pub records: Vec<Record>,
    /// Whether all could be read. If not, a port without a record may well belong to a pod.
    pub complete: bool,
}

impl JournalSnapshot {
    pub(crate) fn view(&self) -> JournalView<'_> {
        JournalView { records: &self.records, complete: self.complete }
    }
}

/// Reads the journal for all reconcilers, and logs once what cannot be read.
#[derive(Debug)]
pub(crate) struct JournalReader {
    journal: Journal,
    unreadable: BTreeSet<String>,
}

impl JournalReader {
    pub(crate) fn new(journal: Journal) -> Self {
        Self { journal, unreadable: BTreeSet::new() }
    }

    /// The attachments of an engine.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub(crate) fn read(&mut self, engine: EngineKind) -> Result<JournalSnapshot, Error> {
        let Records { mut records, unreadable } = self.journal.records()?;
        records.retain(|record| record.engine == engine);
        let texts: BTreeSet<String> = unreadable.iter().map(|error| ErrorChain(error).to_string()).collect();
        for text in texts.difference(&self.unreadable) {
            tracing::warn!(
                error = text,
                "cannot read a record of the journal; ports that may belong to it are not removed"
            );
        }
        self.unreadable = texts;
        Ok(JournalSnapshot { records, complete: unreadable.is_empty() })
    }
}
