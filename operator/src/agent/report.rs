//! Step five of a pass: what the API server is told. Pure; [`super::status`] sends it.

use super::observe::{EngineView, Outage};
use super::reason;
use super::spec::{NodeSpec, Report};
use super::verify::{Verdict, Why};
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::conditions::reason::{ALL_PROGRAMMED, CONNECTED, FOREIGN_PORTS, NOT_PROGRAMMED};
use usnet_crds::conditions::{Finding, OVS_CONNECTED, READY, Status};
use usnet_crds::node_state::{EngineReport, NetworkReport, NetworkState, PODS_MAX};
use usnet_crds::{Engine, NetworkName, NodeNetwork, Phase};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::plan::Obstacle;

/// What a report is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts<'a> {
    /// What the node should have; none before the first spec.
    pub spec: Option<&'a NodeSpec>,
    /// A verdict for each network of the spec.
    pub verdicts: &'a BTreeMap<NetworkName, Verdict>,
    /// What stands in the way of networks that should go.
    pub obstacles: &'a BTreeMap<NetworkName, Obstacle>,
    /// The journal.
    pub records: &'a [Record],
    /// The engine.
    pub engine: &'a EngineView,
    /// Restarts of the engine that were seen on this node.
    pub epoch: u64,
}

/// Networks without a verdict (their engine is gone) fail with the outage.
pub(super) fn verdicts_of_outage(spec: &NodeSpec, outage: &Outage) -> BTreeMap<NetworkName, Verdict> {
    let verdict = Verdict::failed(reason::ENGINE_UNREACHABLE, outage.message.clone());
    spec.networks.iter().map(|network| (network.name.clone(), verdict.clone())).collect()
}

/// What the node has, in the words of its `UserspaceNodeState`.
pub(super) fn report(facts: Facts<'_>) -> Report {
    let spec_networks = facts.spec.map(|spec| spec.networks.as_slice()).unwrap_or_default();
    let mut networks: Vec<_> = spec_networks.iter().map(|network| network_report(facts, network)).collect();
    networks.extend(leftovers(facts, spec_networks));
    networks.sort_by(|one, other| one.name.cmp(&other.name));
    let findings = vec![ready(&networks), connected(facts.engine)];
    let engines = match facts.engine {
        EngineView::Up(engine) => vec![EngineReport {
            engine: Engine::OpenVswitch,
            version: engine.version.clone().unwrap_or_else(|| "unknown".to_owned()),
            epoch: i64::try_from(facts.epoch).unwrap_or(i64::MAX),
        }],
        EngineView::Down(_) => Vec::new(),
    };
    Report { observed_generation: facts.spec.map(|spec| spec.generation), networks, engines, findings }
}

fn network_report(facts: Facts<'_>, network: &NodeNetwork) -> NetworkReport {
    let verdict = facts.verdicts.get(&network.name);
    let state = match (network.phase, verdict) {
        (Phase::Draining, _) => NetworkState::Draining,
        (Phase::Active, Some(verdict)) => verdict.state,
        (Phase::Active, None) => NetworkState::Pending,
    };
    let why = verdict.and_then(|verdict| verdict.why.clone());
    entry(facts, &network.name, network.generation, state, why)
}

/// Networks that are no longer asked for but still have pods, or a bridge that cannot go.
fn leftovers(facts: Facts<'_>, spec_networks: &[NodeNetwork]) -> Vec<NetworkReport> {
    let asked: BTreeSet<&NetworkName> = spec_networks.iter().map(|network| &network.name).collect();
    let attached = facts.records.iter().map(|record| &record.network);
    let left: BTreeSet<&NetworkName> =
        attached.chain(facts.obstacles.keys()).filter(|name| !asked.contains(name)).collect();
    left.into_iter()
        .map(|name| {
            let why = match facts.obstacles.get(name) {
                Some(obstacle) => Why { reason: FOREIGN_PORTS, message: obstacle.to_string() },
                None => Why { reason: reason::IN_USE, message: "pods are still attached to it".to_owned() },
            };
            entry(facts, name, 0, NetworkState::Draining, Some(why))
        })
        .collect()
}

fn entry(
    facts: Facts<'_>,
    name: &NetworkName,
    generation: i64,
    state: NetworkState,
    why: Option<Why>,
) -> NetworkReport {
    let records = || facts.records.iter().filter(|record| record.network == *name);
    let pods: BTreeSet<String> = records().map(|record| record.pod.to_string()).collect();
    let (reason, message) = why.map(|why| (why.reason.to_owned(), why.message)).unwrap_or_default();
    NetworkReport {
        name: name.to_string(),
        generation,
        state,
        reason,
        message,
        attachments: i64::try_from(records().count()).unwrap_or(i64::MAX),
        pods: pods.into_iter().take(PODS_MAX).collect(),
    }
}

/// A node without networks is ready, with or without an engine: nothing is asked of it.
fn ready(networks: &[NetworkReport]) -> Finding {
    let is_done = |network: &&NetworkReport| matches!(network.state, NetworkState::Programmed | NetworkState::Draining);
    let total = networks.len();
    match networks.iter().find(|network| !is_done(network)) {
        None => {
            Finding::new(READY, Status::True, ALL_PROGRAMMED, format!("{total} of {total} networks are programmed"))
        }
        Some(first) => {
            let done = networks.iter().filter(is_done).count();
            let message =
                format!("{done} of {total} networks are programmed; network {}: {}", first.name, first.message);
            Finding::new(READY, Status::False, NOT_PROGRAMMED, message)
        }
    }
}

fn connected(engine: &EngineView) -> Finding {
    match engine {
        EngineView::Up(engine) => {
            let version = engine.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
            let message = format!("connected to Open vSwitch{version}");
            Finding::new(OVS_CONNECTED, Status::True, CONNECTED, message)
        }
        EngineView::Down(outage) => Finding::new(OVS_CONNECTED, Status::False, outage.reason, outage.message.clone()),
    }
}

#[cfg(test)]
mod tests;
