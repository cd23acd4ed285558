//! The log of what changed: each state, outage and problem is told once, when it begins.

use super::guard::attachment_of;
use super::observe::{EngineView, Outage};
use super::verify::{Verdict, network_of};
use crate::error_chain::ErrorChain;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use usnet_crds::node_state::NetworkState;
use usnet_crds::{Engine, NetworkName};
use usnet_dataplane::engine::OpError;
use usnet_dataplane::plan::Op;

/// What was told last of one engine.
#[derive(Debug)]
pub(super) struct Chronicle {
    engine: Engine,
    verdicts: BTreeMap<NetworkName, Verdict>,
    outage: Option<Outage>,
    was_up: bool,
    has_begun: bool,
    problems: BTreeMap<&'static str, String>,
    failures: BTreeSet<String>,
}

impl Chronicle {
    /// Nothing was told yet.
    pub(super) fn new(engine: Engine) -> Self {
        Self {
            engine,
            verdicts: BTreeMap::new(),
            outage: None,
            was_up: false,
            has_begun: false,
            problems: BTreeMap::new(),
            failures: BTreeSet::new(),
        }
    }

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
                    tracing::info!(version = engine.version, "connected to {}", self.engine);
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
                let network = network_of(operation).map(NetworkName::as_str);
                let attachment = attachment_of(operation);
                tracing::warn!(network, attachment, op = %operation, %error, "failed; trying again until it works");
            }
            told.insert(text);
        }
        self.failures = told;
    }
}
