//! The journal, as one lane needs it.

use super::plan::Known;
use crate::error_chain::ErrorChain;
use std::collections::BTreeSet;
use usnet_crds::Engine;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::journal::{Error, Journal, Records};

/// The attachments of one engine, as they were read.
#[derive(Debug)]
pub(super) struct Journaled {
    /// The records that could be read.
    pub records: Vec<Record>,
    /// Whether all could be read. If not, a port without a record may well belong to a pod.
    pub complete: bool,
}

impl Journaled {
    pub(super) fn known(&self) -> Known<'_> {
        Known { records: &self.records, complete: self.complete }
    }
}

/// Reads the journal for all lanes, and tells once what cannot be read.
#[derive(Debug)]
pub(super) struct Reader {
    journal: Journal,
    unreadable: BTreeSet<String>,
}

impl Reader {
    pub(super) fn new(journal: Journal) -> Self {
        Self { journal, unreadable: BTreeSet::new() }
    }

    /// The attachments of an engine.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub(super) fn read(&mut self, engine: Engine) -> Result<Journaled, Error> {
        let Records { mut records, unreadable } = self.journal.records()?;
        records.retain(|record| record.engine == engine);
        let texts: BTreeSet<String> = unreadable.iter().map(|error| ErrorChain(error).to_string()).collect();
        for text in texts.difference(&self.unreadable) {
            tracing::warn!(
                error = text,
                "a record of the journal cannot be read; no port is removed that it could be about"
            );
        }
        self.unreadable = texts;
        Ok(Journaled { records, complete: unreadable.is_empty() })
    }
}
