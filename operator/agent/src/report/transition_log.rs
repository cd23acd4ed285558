//! Logs transitions: each state, outage and problem is logged once, when it begins.

use crate::model::engine_view::{EngineView, Outage};
use crate::model::health::NetworkHealth;
use crate::report::log_subject::LogSubject;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::time::Duration;
use tracing::field::display;
use usnet_common::display::ErrorChain;
use usnet_crds::conditions::reason::ENGINE_ENDED;
use usnet_crds::node_state::{EngineEnd, NetworkState};
use usnet_crds::{EngineKind, NetworkName};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::plan::Op;

#[derive(Debug)]
pub(crate) struct TransitionLog {
    engine: EngineKind,
    network_health: BTreeMap<NetworkName, NetworkHealth>,
    outage: Option<Outage>,
    was_up: bool,
    has_begun: bool,
    problems: BTreeMap<&'static str, String>,
    failures: BTreeSet<String>,
}

impl TransitionLog {
    pub(crate) fn new(engine: EngineKind) -> Self {
        Self {
            engine,
            network_health: BTreeMap::new(),
            outage: None,
            was_up: false,
            has_begun: false,
            problems: BTreeMap::new(),
            failures: BTreeSet::new(),
        }
    }

    /// The networks that were programmed when they were last verified.
    pub(crate) fn programmed(&self) -> BTreeSet<NetworkName> {
        let programmed = self.network_health.iter().filter(|(_, health)| health.state == NetworkState::Programmed);
        programmed.map(|(name, _)| name.clone()).collect()
    }

    /// Logs how many lost ports were recreated in the engine, and how long that took.
    pub(crate) fn replayed(&self, replay: Option<(usize, Duration)>) {
        if let Some((ports, took)) = replay {
            let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            tracing::info!(ports, milliseconds, "recreated the ports that {} had lost", self.engine);
        }
    }

    /// Logs when the engine was connected or lost.
    pub(crate) fn engine(&mut self, view: &EngineView) {
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

    /// Logs that the process of the engine ended.
    pub(crate) fn end(&self, end: Option<&EngineEnd>) {
        if let Some(end) = end {
            tracing::warn!(reason = ENGINE_ENDED, "{}", end.message);
        }
    }

    /// Logs changes in the health of networks. A network that is programmed when it is first seen
    /// is not logged, because its operations were.
    pub(crate) fn networks(&mut self, network_health: &BTreeMap<NetworkName, NetworkHealth>) {
        for (network, health) in network_health {
            let before = self.network_health.get(network);
            if before == Some(health) {
                continue;
            }
            match &health.cause {
                None if before.is_some() => tracing::info!(%network, "programmed"),
                None => {}
                Some(cause) if health.state == NetworkState::Failed => {
                    tracing::warn!(%network, reason = cause.reason, "{}", cause.message);
                }
                Some(cause) => tracing::info!(%network, reason = cause.reason, "{}", cause.message),
            }
        }
        for network in self.network_health.keys().filter(|network| !network_health.contains_key(*network)) {
            tracing::info!(%network, "no longer desired");
        }
        self.network_health.clone_from(network_health);
        if !std::mem::replace(&mut self.has_begun, true) {
            tracing::info!(networks = network_health.len(), programmed = self.programmed().len(), "started");
        }
    }

    /// Logs another problem once, until it is resolved. Each `subject` has one problem at a time.
    pub(crate) fn problem<E: Error + 'static>(&mut self, subject: &'static str, problem: Option<&E>) {
        match problem {
            Some(error) => {
                let text = ErrorChain(error).to_string();
                if self.problems.get(subject) != Some(&text) {
                    tracing::warn!(subject, error = text, "failed; retrying");
                }
                self.problems.insert(subject, text);
            }
            None => drop(self.problems.remove(subject)),
        }
    }

    /// Logs operations that failed, but not again while retries fail for the same reason.
    pub(crate) fn failures(&mut self, failures: &[(Op, OpError)], records: &[Record]) {
        let mut logged = BTreeSet::new();
        for (operation, error) in failures {
            let text = format!("{operation}: {error}");
            if !self.failures.contains(&text) {
                let LogSubject { network, pod, interface, attachment } = LogSubject::of(operation, records);
                let (pod, attachment) = (pod.map(display), attachment.map(display));
                tracing::warn!(network, pod, interface, attachment, op = %operation, %error, "failed; retrying until it succeeds");
            }
            logged.insert(text);
        }
        self.failures = logged;
    }
}
