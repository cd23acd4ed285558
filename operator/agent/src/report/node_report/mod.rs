//! Merges the results of all engines into one report of the node.

use crate::model::engine_facts::EngineFacts;
use crate::model::report::Report;
use crate::model::spec::{NodeSpec, RefusedNetwork};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch::Sender;
use usnet_crds::EngineKind;
use usnet_crds::conditions::message::node as message;
use usnet_crds::conditions::reason::{
    ADDRESS_TAKEN, AGENT_FAILED, AGENT_READY, ALL_PROGRAMMED, CONFIGURATION_INVALID, ENGINE_UNREACHABLE, NEVER_SEEN,
    NOT_PROGRAMMED, STARTING, STATE_NOT_WRITABLE,
};
use usnet_crds::conditions::{
    CONFIGURATIONS_ACCEPTED, ConditionUpdate, METRICS_SERVED, NETWORKS_PROGRAMMED, READY, Status,
};
use usnet_crds::node_state::{
    AFFECTED_PODS_MAX, AffectedPod, DEGRADED_MAX, NetworkReport, NetworkState, PODS_MAX, POLICY_PODS_MAX, PolicyPod,
};
use usnet_crds::uplink::report::{UplinkReport, UplinkState};

/// The last results of all engines.
#[derive(Debug)]
pub(crate) struct NodeReport {
    engines: BTreeMap<EngineKind, EngineFacts>,
    /// Why a reconciler failed, so that its last result may be out of date.
    problems: BTreeMap<EngineKind, String>,
    /// Why the state or run directory cannot be written.
    state_problem: Option<String>,
    /// Why metrics are not served.
    unserved: Option<String>,
    /// Why configurations in files of the node cannot be used.
    configuration_problem: Option<String>,
    reports: Sender<Option<Report>>,
    waits_for_all: bool,
}

impl NodeReport {
    /// An empty report. Nothing is sent before all engines are known, or
    /// [`stop_waiting`](Self::stop_waiting) is called.
    pub(crate) fn new(reports: Sender<Option<Report>>) -> Self {
        Self {
            engines: BTreeMap::new(),
            problems: BTreeMap::new(),
            state_problem: None,
            unserved: None,
            configuration_problem: None,
            reports,
            waits_for_all: true,
        }
    }

    /// Sets the result of one engine.
    pub(crate) fn update(&mut self, engine: EngineKind, facts: EngineFacts) {
        self.engines.insert(engine, facts);
        self.problems.remove(&engine);
        self.publish();
    }

    /// Records that the last result of an engine holds for this spec as well.
    pub(crate) fn confirm_spec(&mut self, engine: EngineKind, spec: &Arc<NodeSpec>) {
        let reported = oldest_spec(self.engines.values());
        let Some(facts) = self.engines.get_mut(&engine) else { return };
        if facts.spec.as_ref().is_some_and(|known| Arc::ptr_eq(known, spec)) {
            return;
        }
        facts.spec = Some(Arc::clone(spec));
        let had_failed = self.problems.remove(&engine).is_some();
        // In most cases the other engine still works on this spec. Then the report stays the same,
        // and a thousand networks need not be merged.
        if had_failed || oldest_spec(self.engines.values()) != reported {
            self.publish();
        }
    }

    /// Records why the reconciler of one engine failed.
    pub(crate) fn mark_failed(&mut self, engine: EngineKind, problem: String) {
        self.problems.insert(engine, problem);
        self.publish();
    }

    /// Sets why the state or run directory cannot be written; none if it can.
    pub(crate) fn set_state_problem(&mut self, problem: Option<String>) {
        self.state_problem = problem;
        self.publish();
    }

    /// Sets why metrics are not served; none if they are.
    pub(crate) fn set_unserved(&mut self, problem: Option<String>) {
        if self.unserved != problem {
            self.unserved = problem;
            self.publish();
        }
    }

    /// Sets why configurations in files of the node cannot be used; none if all can.
    pub(crate) fn set_configuration_problem(&mut self, problem: Option<String>) {
        if self.configuration_problem != problem {
            self.configuration_problem = problem;
            self.publish();
        }
    }

    /// Reports without the engines that are not known yet: they may hang.
    pub(crate) fn stop_waiting(&mut self) {
        self.waits_for_all = false;
        self.publish();
    }

    fn publish(&self) {
        let all_are_known = EngineKind::ALL.iter().all(|engine| self.engines.contains_key(engine));
        if self.engines.is_empty() || (self.waits_for_all && !all_are_known) {
            return;
        }
        let mut report = merge(&self.engines, &self.problems, self.state_problem.as_deref());
        let own = [
            (METRICS_SERVED, ADDRESS_TAKEN, &self.unserved),
            (CONFIGURATIONS_ACCEPTED, CONFIGURATION_INVALID, &self.configuration_problem),
        ];
        report.findings.extend(own.into_iter().filter_map(|(kind, reason, problem)| {
            Some(ConditionUpdate::new(kind, Status::False, reason, problem.as_ref()?))
        }));
        let report = Some(report);
        self.reports.send_if_modified(|known| {
            let changed = *known != report;
            *known = report;
            changed
        });
    }
}

fn merge(
    engines: &BTreeMap<EngineKind, EngineFacts>,
    problems: &BTreeMap<EngineKind, String>,
    state_problem: Option<&str>,
) -> Report {
    let unknown = EngineKind::ALL.into_iter().find(|engine| !engines.contains_key(engine));
    let spec = match unknown {
        Some(_) => None,
        None => oldest_spec(engines.values()),
    };
    let networks = networks(engines.values(), spec.as_deref().map(|spec| spec.refused.as_slice()).unwrap_or_default());
    let mut uplinks: Vec<_> = engines.values().flat_map(|facts| facts.uplinks.iter().cloned()).collect();
    uplinks.sort_by(|one, other| one.name.cmp(&other.name));
    let starting = |kind| {
        unknown.map(|engine| ConditionUpdate::new(kind, Status::Unknown, STARTING, message::not_observed(engine)))
    };
    let ready = match (state_problem, problems.values().next()) {
        (Some(problem), _) => ConditionUpdate::new(READY, Status::False, STATE_NOT_WRITABLE, problem),
        (None, Some(problem)) => ConditionUpdate::new(READY, Status::False, AGENT_FAILED, problem),
        (None, None) => starting(READY).unwrap_or_else(|| ready(engines.values())),
    };
    let programmed = starting(NETWORKS_PROGRAMMED).unwrap_or_else(|| programmed(&networks, &uplinks));
    let connected = engines.values().map(|facts| facts.connected.clone());
    Report {
        spec,
        engines: engines.values().filter_map(|facts| facts.engine.clone()).collect(),
        engine_ends: engines.values().filter_map(|facts| facts.last_end.clone()).collect(),
        affected_pods: affected_pods(engines.values()),
        policy_pods: policy_pods(engines.values()),
        findings: [ready, programmed].into_iter().chain(connected).collect(),
        networks,
        uplinks,
    }
}

fn affected_pods<'a>(engines: impl Iterator<Item = &'a EngineFacts>) -> Vec<AffectedPod> {
    let mut pods: Vec<_> = engines.flat_map(|facts| facts.affected_pods.iter().cloned()).collect();
    pods.sort();
    pods.truncate(AFFECTED_PODS_MAX);
    pods
}

fn policy_pods<'a>(engines: impl Iterator<Item = &'a EngineFacts>) -> Vec<PolicyPod> {
    let mut pods: Vec<_> = engines.flat_map(|facts| facts.policy_pods.iter().cloned()).collect();
    pods.sort();
    pods.truncate(POLICY_PODS_MAX);
    pods
}

/// The spec that every engine has worked on.
fn oldest_spec<'a>(engines: impl Iterator<Item = &'a EngineFacts>) -> Option<Arc<NodeSpec>> {
    let specs: Option<Vec<_>> = engines.map(|facts| facts.spec.as_ref()).collect();
    specs?.into_iter().min_by_key(|spec| spec.revision).cloned()
}

/// Returns one entry for each name, sorted. A network that was recreated with another engine may
/// have pods on both.
fn networks<'a>(engines: impl Iterator<Item = &'a EngineFacts>, refused: &[RefusedNetwork]) -> Vec<Arc<NetworkReport>> {
    let mut networks: BTreeMap<&str, Arc<NetworkReport>> = BTreeMap::new();
    for entry in engines.flat_map(|facts| &facts.networks) {
        let both = match networks.remove(entry.name.as_str()) {
            None => Arc::clone(entry),
            // The entry that is no longer desired has no generation.
            Some(other) if other.generation < entry.generation => merge_pods(entry, &other),
            Some(other) => merge_pods(&other, entry),
        };
        networks.insert(&entry.name, both);
    }
    for refused in refused {
        let leftover = networks.remove(refused.name.as_str());
        networks.insert(refused.name.as_str(), refuse(refused, leftover));
    }
    networks.into_values().collect()
}

/// The report of a network that cannot be applied on the node, with the pods that are still
/// attached to it.
fn refuse(refused: &RefusedNetwork, leftover: Option<Arc<NetworkReport>>) -> Arc<NetworkReport> {
    let (attachments, connected, pods, degraded) = leftover
        .map(Arc::unwrap_or_clone)
        .map(|leftover| (leftover.attachments, leftover.connected, leftover.pods, leftover.degraded))
        .unwrap_or_default();
    Arc::new(NetworkReport {
        name: refused.name.to_string(),
        generation: refused.generation,
        state: NetworkState::Failed,
        reason: refused.reason.clone(),
        message: refused.message.clone(),
        attachments,
        connected,
        pods,
        degraded,
    })
}

fn merge_pods(desired: &NetworkReport, leftover: &NetworkReport) -> Arc<NetworkReport> {
    let mut desired = desired.clone();
    desired.attachments += leftover.attachments;
    desired.connected += leftover.connected;
    let more: Vec<_> = leftover.pods.iter().filter(|pod| !desired.pods.contains(pod)).cloned().collect();
    desired.pods.extend(more);
    desired.pods.truncate(PODS_MAX);
    desired.degraded.extend(leftover.degraded.iter().cloned());
    desired.degraded.truncate(DEGRADED_MAX);
    Arc::new(desired)
}

/// A node is ready if its agent and its engines work, whatever single networks lack: one with a
/// wrong spec would make all nodes not ready. An engine that the node never had is no problem.
fn ready<'a>(engines: impl Iterator<Item = &'a EngineFacts>) -> ConditionUpdate {
    let connected = engines.map(|facts| &facts.connected);
    let down = connected.filter(|connected| connected.status != Status::True && connected.reason != NEVER_SEEN);
    let down: Vec<&str> = down.map(|connected| connected.message.as_str()).collect();
    match down.as_slice() {
        [] => ConditionUpdate::new(READY, Status::True, AGENT_READY, message::AGENT_READY),
        messages => ConditionUpdate::new(READY, Status::False, ENGINE_UNREACHABLE, messages.join("; ")),
    }
}

fn programmed(networks: &[Arc<NetworkReport>], uplinks: &[UplinkReport]) -> ConditionUpdate {
    let update = |status, reason: &str, message| ConditionUpdate::new(NETWORKS_PROGRAMMED, status, reason, message);
    let is_done =
        |network: &&Arc<NetworkReport>| matches!(network.state, NetworkState::Programmed | NetworkState::Draining);
    let total = networks.len();
    let uplink = uplinks.iter().find(|uplink| uplink.state != UplinkState::Programmed);
    match networks.iter().find(|network| !is_done(network)) {
        None => match uplink {
            None => update(Status::True, ALL_PROGRAMMED, message::networks_programmed(total, total, None)),
            Some(uplink) => {
                let message = message::uplink_not_programmed(&uplink.name, &uplink.message);
                update(Status::False, NOT_PROGRAMMED, message)
            }
        },
        Some(first) => {
            let done = networks.iter().filter(is_done).count();
            let message = message::networks_programmed(done, total, Some((&first.name, &first.message)));
            update(Status::False, NOT_PROGRAMMED, message)
        }
    }
}

#[cfg(test)]
mod tests;
