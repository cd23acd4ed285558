//! The log of what changed: each state, outage and problem is told once, when it begins.

use super::guard::attachment_of;
use super::observe::{EngineView, Outage};
use super::verify::{Verdict, network_of};
use crate::error_chain::ErrorChain;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use usnet_crds::NetworkName;
use usnet_crds::node_state::NetworkState;
use usnet_dataplane::document as journal_file;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::plan::Op;

/// What was told last.
#[derive(Debug, Default)]
pub(super) struct Chronicle {
    verdicts: BTreeMap<NetworkName, Verdict>,
    outage: Option<Outage>,
    was_up: bool,
    has_begun: bool,
    problems: BTreeMap<&'static str, String>,
    unreadable: BTreeSet<String>,
    failures: BTreeSet<String>,
}

impl Chronicle {
    /// The networks that were programmed when they were last looked at.
    pub(super) fn programmed(&self) -> BTreeSet<NetworkName> {
        let programmed = self.verdicts.iter().filter(|(_, verdict)| verdict.state == NetworkState::Programmed);
        programmed.map(|(name, _)| name.clone()).collect()
    }

    /// Tells when the engine went or came.
    pub(super) fn engine(&mut self, view: &EngineView) {
        match view {
            EngineView::Up(engine) => {
                if !std::mem::replace(&mut self.was_up, true) {
                    tracing::info!(version = engine.version, "connected to Open vSwitch");
                }
                self.outage = None;
            }
            EngineView::Down(outage) => {
                self.was_up = false;
                if self.outage.as_ref().map(|known| known.reason) != Some(outage.reason) {
                    tracing::warn!(reason = outage.reason, "{}", outage.message);
                }
                self.outage = Some(outage.clone());
            }
        }
    }

    /// Tells how far networks came, or why not. One that is programmed when it is first seen is no news: what was done for it has been told.
    pub(super) fn networks(&mut self, verdicts: &BTreeMap<NetworkName, Verdict>) {
        for (network, verdict) in verdicts {
            let before = self.verdicts.get(network);
            if before == Some(verdict) {
                continue;
            }
            match &verdict.why {
                None if before.is_some() => tracing::info!(%network, "programmed"),
                None => {}
                Some(why) if verdict.state == NetworkState::Failed => {
                    tracing::warn!(%network, reason = why.reason, "{}", why.message);
                }
                Some(why) => tracing::info!(%network, reason = why.reason, "{}", why.message),
            }
        }
        for network in self.verdicts.keys().filter(|network| !verdicts.contains_key(*network)) {
            tracing::info!(%network, "no longer asked for");
        }
        self.verdicts.clone_from(verdicts);
        if !std::mem::replace(&mut self.has_begun, true) {
            tracing::info!(networks = verdicts.len(), programmed = self.programmed().len(), "working");
        }
    }

    /// Tells of something else that is wrong, until it is over. There is one problem for each `subject` at a time.
    pub(super) fn problem<E: Error + 'static>(&mut self, subject: &'static str, problem: Option<&E>) {
        match problem {
            Some(error) => {
                let text = ErrorChain(error).to_string();
                if self.problems.get(subject) != Some(&text) {
                    tracing::warn!(subject, error = text, "this is tried again");
                }
                self.problems.insert(subject, text);
            }
            None => drop(self.problems.remove(subject)),
        }
    }

    /// Tells of operations that failed; not again while they are tried again and fail for the same reason.
    pub(super) fn failures(&mut self, failures: &[(Op, OpError)]) {
        let mut told = BTreeSet::new();
        for (operation, error) in failures {
            let text = format!("{operation}: {error}");
            if !self.failures.contains(&text) {
                let (network, attachment) = (network_of(operation), attachment_of(operation));
                tracing::warn!(%network, attachment, op = %operation, %error, "failed; trying again until it works");
            }
            told.insert(text);
        }
        self.failures = told;
    }

    /// Tells of records that cannot be read: until a person looks at them, nothing of which they could speak is removed.
    pub(super) fn unreadable_records(&mut self, errors: &[journal_file::Error]) {
        let texts: BTreeSet<String> = errors.iter().map(|error| ErrorChain(error).to_string()).collect();
        for text in texts.difference(&self.unreadable) {
            tracing::warn!(
                error = text,
                "a record of the journal cannot be read; no port is removed that it could be about"
            );
        }
        self.unreadable = texts;
    }
}
