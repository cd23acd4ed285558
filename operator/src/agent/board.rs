//! Where the lanes put what they found; the API server is told of all of them together.

use super::reason::AGENT_FAILED;
use super::report::EngineFacts;
use super::spec::{NodeSpec, RefusedNetwork, Report};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch::Sender;
use usnet_crds::Engine;
use usnet_crds::conditions::reason::{ALL_PROGRAMMED, NOT_PROGRAMMED, STARTING};
use usnet_crds::conditions::{ConditionUpdate, READY, Status};
use usnet_crds::node_state::{NetworkReport, NetworkState, PODS_MAX};

/// What is known of the node.
#[derive(Debug)]
pub(super) struct Board {
    engines: BTreeMap<Engine, EngineFacts>,
    /// Why a lane could not finish its work: what it said of its networks may be old.
    problems: BTreeMap<Engine, String>,
    reports: Sender<Option<Report>>,
    waits_for_all: bool,
}

impl Board {
    /// An empty one. It tells nobody anything before all engines are known, or [`stop_waiting`](Self::stop_waiting) is called.
    pub(super) fn new(reports: Sender<Option<Report>>) -> Self {
        Self { engines: BTreeMap::new(), problems: BTreeMap::new(), reports, waits_for_all: true }
    }

    /// Takes in what one engine has.
    pub(super) fn post(&mut self, engine: Engine, facts: EngineFacts) {
        self.engines.insert(engine, facts);
        self.problems.remove(&engine);
        self.tell();
    }

    /// Takes in why it is not known what one engine has.
    pub(super) fn spoil(&mut self, engine: Engine, problem: String) {
        self.problems.insert(engine, problem);
        self.tell();
    }

    /// An engine that is not known by now may hang: the others do not wait for it.
    pub(super) fn stop_waiting(&mut self) {
        self.waits_for_all = false;
        self.tell();
    }

    fn tell(&self) {
        let all_are_known = Engine::ALL.iter().all(|engine| self.engines.contains_key(engine));
        if self.engines.is_empty() || (self.waits_for_all && !all_are_known) {
            return;
        }
        let report = Some(merge(&self.engines, &self.problems));
        self.reports.send_if_modified(|known| {
            let changed = *known != report;
            *known = report;
            changed
        });
    }
}

/// One report of all engines.
fn merge(engines: &BTreeMap<Engine, EngineFacts>, problems: &BTreeMap<Engine, String>) -> Report {
    let unknown = Engine::ALL.into_iter().find(|engine| !engines.contains_key(engine));
    let spec = match unknown {
        Some(_) => None,
        None => oldest_spec(engines.values()),
    };
    let networks = networks(engines.values(), spec.as_deref().map(|spec| spec.refused.as_slice()).unwrap_or_default());
    let ready = match (problems.values().next(), unknown) {
        (Some(problem), _) => ConditionUpdate::new(READY, Status::False, AGENT_FAILED, problem),
        (None, Some(engine)) => {
            ConditionUpdate::new(READY, Status::Unknown, STARTING, format!("{engine} was not looked at yet"))
        }
        (None, None) => ready(&networks),
    };
    let connected = engines.values().map(|facts| facts.connected.clone());
    Report {
        spec,
        engines: engines.values().filter_map(|facts| facts.engine.clone()).collect(),
        findings: std::iter::once(ready).chain(connected).collect(),
        networks,
    }
}

/// The report speaks of a spec once every engine does.
fn oldest_spec<'a>(engines: impl Iterator<Item = &'a EngineFacts>) -> Option<Arc<NodeSpec>> {
    let specs: Option<Vec<_>> = engines.map(|facts| facts.spec.as_ref()).collect();
    specs?.into_iter().min_by_key(|spec| spec.revision).cloned()
}

/// One entry for each name, sorted. A network that was recreated with another engine may have pods on both.
fn networks<'a>(engines: impl Iterator<Item = &'a EngineFacts>, refused: &[RefusedNetwork]) -> Vec<NetworkReport> {
    let mut networks: BTreeMap<&str, NetworkReport> = BTreeMap::new();
    for entry in engines.flat_map(|facts| &facts.networks) {
        let both = match networks.remove(entry.name.as_str()) {
            None => entry.clone(),
            // The one that is not asked for has no generation.
            Some(other) if other.generation < entry.generation => join(entry.clone(), other),
            Some(other) => join(other, entry.clone()),
        };
        networks.insert(&entry.name, both);
    }
    for refused in refused {
        let left = networks.remove(refused.name.as_str());
        networks.insert(refused.name.as_str(), refuse(refused, left));
    }
    networks.into_values().collect()
}

/// A network that the node cannot have, and the pods that it had there before.
fn refuse(refused: &RefusedNetwork, left: Option<NetworkReport>) -> NetworkReport {
    let (attachments, connected, pods) =
        left.map(|left| (left.attachments, left.connected, left.pods)).unwrap_or_default();
    NetworkReport {
        name: refused.name.to_string(),
        generation: refused.generation,
        state: NetworkState::Failed,
        reason: refused.reason.clone(),
        message: refused.message.clone(),
        attachments,
        connected,
        pods,
    }
}

fn join(mut wanted: NetworkReport, leftover: NetworkReport) -> NetworkReport {
    wanted.attachments += leftover.attachments;
    wanted.connected += leftover.connected;
    let more: Vec<_> = leftover.pods.into_iter().filter(|pod| !wanted.pods.contains(pod)).collect();
    wanted.pods.extend(more);
    wanted.pods.truncate(PODS_MAX);
    wanted
}

/// A node without networks is ready, with or without an engine: nothing is asked of it.
fn ready(networks: &[NetworkReport]) -> ConditionUpdate {
    let is_done = |network: &&NetworkReport| matches!(network.state, NetworkState::Programmed | NetworkState::Draining);
    let total = networks.len();
    match networks.iter().find(|network| !is_done(network)) {
        None => ConditionUpdate::new(
            READY,
            Status::True,
            ALL_PROGRAMMED,
            format!("{total} of {total} networks are programmed"),
        ),
        Some(first) => {
            let done = networks.iter().filter(is_done).count();
            let message =
                format!("{done} of {total} networks are programmed; network {}: {}", first.name, first.message);
            ConditionUpdate::new(READY, Status::False, NOT_PROGRAMMED, message)
        }
    }
}

#[cfg(test)]
mod tests;
