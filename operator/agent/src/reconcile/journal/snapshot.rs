//! The part of the journal that is about one engine.

use std::collections::BTreeSet;
use usnet_common::display::ErrorChain;
use usnet_crds::EngineKind;
use usnet_dataplane::attachment::{AttachmentId, Record};
use usnet_dataplane::journal::{Error, Journal, Records};

/// The attachments of one engine.
#[derive(Debug)]
pub(crate) struct JournalSnapshot {
    pub records: Vec<Record>,
    /// The attachments of any engine whose records could not be read.
    pub unreadable: BTreeSet<AttachmentId>,
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

    pub(crate) fn read(&mut self, engine: EngineKind) -> Result<JournalSnapshot, Error> {
        let Records { mut records, unreadable } = self.journal.records()?;
        records.retain(|record| record.engine == engine);
        let texts: BTreeSet<String> = unreadable.iter().map(|record| ErrorChain(&record.error).to_string()).collect();
        for text in texts.difference(&self.unreadable) {
            tracing::warn!(
                error = text,
                "cannot read the record of an attachment; its port and bridge are left as they are"
            );
        }
        self.unreadable = texts;
        Ok(JournalSnapshot { records, unreadable: unreadable.into_iter().map(|record| record.id).collect() })
    }
}
