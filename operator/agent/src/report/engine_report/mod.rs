//! Step nine of a reconcile: the state of one engine of the node, in the terms of the
//! `UserspaceNodeState`. Pure; [`crate::report::node_report`] merges the engines.

use crate::model::engine_facts::EngineFacts;
use crate::model::engine_view::{EngineView, Outage};
use crate::model::health::{Cause, NetworkHealth};
use crate::model::spec::EngineSpec;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use usnet_common::display::OneLine;
use usnet_crds::conditions::message::node as message;
use usnet_crds::conditions::reason::{
    CONNECTED, DEVICE_MISSING, ENGINE_UNREACHABLE, FOREIGN_PORTS, IN_USE, NETWORK_DRAINING, NO_MEMORY, Place,
    RECORD_UNREADABLE, names_of,
};
use usnet_crds::conditions::{ConditionUpdate, Status, engine_connected};
use usnet_crds::node_state::{
    AFFECTED_PODS_MAX, AffectedPod, DEGRADED_MAX, DegradedAttachment, EngineEnd, EngineReport, NetworkReport,
    NetworkState, PODS_MAX, PolicyPod,
};
use usnet_crds::pod_slice::POD_ADDRESSES_MAX;
use usnet_crds::uplink::report::{UplinkReport, UplinkState};
use usnet_crds::{EngineKind, NetworkName, NodeNetwork, NodeUplink, Phase};
use usnet_dataplane::attachment::{AttachmentId, Progress, Record};
use usnet_dataplane::observed::{ObservedPort, Peer};
use usnet_dataplane::plan::Blocker;

/// What a report is computed from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub engine: EngineKind,
    /// The desired state of the engine; none before the first spec.
    pub spec: Option<&'a EngineSpec>,
    /// The health of each network of the spec.
    pub network_health: &'a BTreeMap<NetworkName, NetworkHealth>,
    /// Conflicts that block the creation or removal of bridges.
    pub blockers: &'a BTreeMap<NetworkName, Blocker>,
    /// Bridges of networks that are no longer desired, kept because of unreadable records.
    pub kept_bridges: &'a BTreeMap<NetworkName, String>,
    /// The reports of the engine's uplinks; empty while the engine is down.
    pub uplinks: &'a [UplinkReport],
    /// Attachments with a problem of their own.
    pub degraded: &'a BTreeMap<AttachmentId, Cause>,
    /// The last end of the engine.
    pub last_end: Option<&'a EngineEnd>,
    /// The engine's part of the journal.
    pub records: &'a [Record],
    /// The last observation of the engine.
    pub view: &'a EngineView,
    /// The number of the engine's restarts that were seen on this node.
    pub epoch: u64,
}

/// While their engine is down, networks fail with the outage.
pub(crate) fn health_during_outage(spec: &EngineSpec, outage: &Outage) -> BTreeMap<NetworkName, NetworkHealth> {
    let health = NetworkHealth::failed(ENGINE_UNREACHABLE, outage.message.clone());
    spec.networks.iter().map(|network| (network.name.clone(), health.clone())).collect()
}

/// The part of the status that is about one engine.
pub(crate) fn report(facts: Facts<'_>) -> EngineFacts {
    let users = Users::of(facts);
    let spec_networks = facts.spec.map(|spec| spec.networks.as_slice()).unwrap_or_default();
    let desired = spec_networks.iter().map(|network| network_report(facts, &users, network));
    let networks: Vec<_> = desired.chain(leftovers(facts, &users, spec_networks)).map(Arc::new).collect();
    let engine = match facts.view {
        EngineView::Up(engine) => Some(EngineReport {
            engine: facts.engine,
            version: engine.version.clone().unwrap_or_else(|| "unknown".to_owned()),
            epoch: i64::try_from(facts.epoch).unwrap_or(i64::MAX),
        }),
        EngineView::Down(_) => None,
    };
    let spec = facts.spec.map(|spec| Arc::clone(&spec.node));
    let mut degraded: BTreeMap<_, _> = names_of(Place::Interface).map(|reason| (reason, 0)).collect();
    facts.degraded.values().for_each(|cause| *degraded.entry(cause.reason).or_default() += 1);
    let (uplinks, last_end) = (uplinks(facts), facts.last_end.cloned());
    let affected_pods = affected_pods(facts, &networks);
    EngineFacts {
        spec,
        networks,
        uplinks,
        degraded,
        affected_pods,
        policy_pods: policy_pods(facts),
        engine,
        last_end,
        connected: connected(facts),
    }
}

/// Returns each pod once for each of its networks that has policies. Before an ADD has answered,
/// the addresses of the pod are not all known; after a DEL has begun, they may be another pod's.
fn policy_pods(facts: Facts<'_>) -> Vec<PolicyPod> {
    let networks = facts.spec.map(|spec| spec.networks.as_slice()).unwrap_or_default();
    let with_policies = networks.iter().filter(|network| network.policies.are_enabled());
    let with_policies: BTreeSet<&NetworkName> = with_policies.map(|network| &network.name).collect();
    let mut pods: BTreeMap<(&NetworkName, String), BTreeSet<IpAddr>> = BTreeMap::new();
    for record in facts.records {
        if record.progress == Progress::Attached && with_policies.contains(&record.network) {
            let addresses = pods.entry((&record.network, record.pod.uid.to_string())).or_default();
            addresses.extend(record.addresses.iter().map(|address| address.ip));
        }
    }
    let reported = |((network, uid), addresses): ((&NetworkName, String), BTreeSet<IpAddr>)| PolicyPod {
        network: network.to_string(),
        uid,
        addresses: addresses.into_iter().take(POD_ADDRESSES_MAX).collect(),
    };
    pods.into_iter().map(reported).collect()
}

/// Returns each pod once for each of its networks and reasons. Before the first spec, no network is
/// known to drain.
fn affected_pods(facts: Facts<'_>, networks: &[Arc<NetworkReport>]) -> Vec<AffectedPod> {
    let is_down = matches!(facts.view, EngineView::Down(_));
    let draining = networks.iter().filter(|report| facts.spec.is_some() && report.state == NetworkState::Draining);
    let draining: BTreeSet<&str> = draining.map(|report| report.name.as_str()).collect();
    let mut affected = BTreeSet::new();
    for record in facts.records {
        let is_draining = draining.contains(record.network.as_str());
        for (_, reason) in [(is_down, ENGINE_UNREACHABLE), (is_draining, NETWORK_DRAINING)].iter().filter(|it| it.0) {
            affected.insert(AffectedPod {
                pod: record.pod.to_string(),
                uid: record.pod.uid.to_string(),
                network: record.network.to_string(),
                engine: facts.engine,
                reason: (*reason).to_owned(),
            });
        }
    }
    affected.into_iter().take(AFFECTED_PODS_MAX).collect()
}

/// While their engine is down, uplinks fail with the outage.
fn uplinks(facts: Facts<'_>) -> Vec<UplinkReport> {
    let EngineView::Down(outage) = facts.view else { return facts.uplinks.to_vec() };
    let failed = |uplink: &Arc<NodeUplink>| UplinkReport {
        name: uplink.name.to_string(),
        generation: uplink.generation,
        state: UplinkState::Failed,
        reason: ENGINE_UNREACHABLE.to_owned(),
        message: outage.message.clone(),
        nic: String::new(),
        active_member: String::new(),
    };
    facts.spec.iter().flat_map(|spec| spec.uplinks.values()).map(failed).collect()
}

/// The pods that use the networks.
struct Users<'a> {
    records: BTreeMap<&'a NetworkName, Vec<&'a Record>>,
    /// The number of ports to which the application of the pod is connected.
    connected: BTreeMap<&'a NetworkName, i64>,
    degraded: &'a BTreeMap<AttachmentId, Cause>,
}

impl<'a> Users<'a> {
    fn of(facts: Facts<'a>) -> Self {
        let mut users = Self { records: BTreeMap::new(), connected: BTreeMap::new(), degraded: facts.degraded };
        for record in facts.records {
            users.records.entry(&record.network).or_default().push(record);
        }
        if let EngineView::Up(engine) = facts.view {
            let recorded: BTreeMap<&AttachmentId, &NetworkName> =
                facts.records.iter().map(|record| (&record.id, &record.network)).collect();
            let ports = engine.observed.bridges.values().flat_map(|bridge| bridge.ports.values());
            let carries_packets = |port: &ObservedPort| {
                let attachment = port.owner.as_ref().and_then(|owner| owner.attachment());
                let cause = attachment.and_then(|attachment| facts.degraded.get(attachment));
                cause.is_none_or(|cause| ![DEVICE_MISSING, NO_MEMORY].contains(&cause.reason))
            };
            let connected = ports.filter(|port| port.peer == Peer::Connected && carries_packets(port));
            for network in connected.filter_map(|port| network_of(port, &recorded)) {
                *users.connected.entry(network).or_default() += 1;
            }
        }
        users
    }
}

/// Returns the network of a pod's port; none for other ports, such as the device of an overlay. The
/// tags of VPP's ports on an adopted bridge domain name only the attachment.
fn network_of<'a>(
    port: &'a ObservedPort,
    recorded: &BTreeMap<&AttachmentId, &'a NetworkName>,
) -> Option<&'a NetworkName> {
    let owner = port.owner.as_ref()?;
    let attachment = owner.attachment()?;
    owner.network.as_ref().or_else(|| recorded.get(attachment).copied())
}

fn network_report(facts: Facts<'_>, users: &Users<'_>, network: &NodeNetwork) -> NetworkReport {
    let health = facts.network_health.get(&network.name);
    let state = match (network.phase, health) {
        (Phase::Draining, _) => NetworkState::Draining,
        (Phase::Active, Some(health)) => health.state,
        (Phase::Active, None) => NetworkState::Pending,
    };
    let is_in_use = state == NetworkState::Draining && users.records.contains_key(&network.name);
    let cause = health.and_then(|health| health.cause.clone()).or_else(|| is_in_use.then(in_use));
    NetworkReport { generation: network.generation, ..entry(users, &network.name, state, cause) }
}

/// Reports networks that are no longer desired but still have pods, or a bridge that cannot be
/// removed.
fn leftovers(facts: Facts<'_>, users: &Users<'_>, spec_networks: &[Arc<NodeNetwork>]) -> Vec<NetworkReport> {
    let desired: BTreeSet<&NetworkName> = spec_networks.iter().map(|network| &network.name).collect();
    let attached = users.records.keys().copied();
    let with_bridge = facts.blockers.keys().chain(facts.kept_bridges.keys());
    let left: BTreeSet<&NetworkName> = attached.chain(with_bridge).filter(|name| !desired.contains(name)).collect();
    left.into_iter()
        .map(|name| {
            let cause = match (facts.blockers.get(name), facts.kept_bridges.get(name)) {
                (Some(blocker), _) => Cause { reason: FOREIGN_PORTS, message: blocker.to_string() },
                (None, Some(bridge)) if !users.records.contains_key(name) => {
                    Cause { reason: RECORD_UNREADABLE, message: message::record_unreadable(bridge) }
                }
                (None, _) => in_use(),
            };
            entry(users, name, NetworkState::Draining, Some(cause))
        })
        .collect()
}

fn in_use() -> Cause {
    Cause { reason: IN_USE, message: message::PODS_ATTACHED.to_owned() }
}

/// A report without a generation.
fn entry(users: &Users<'_>, name: &NetworkName, state: NetworkState, cause: Option<Cause>) -> NetworkReport {
    let records = users.records.get(name).map(Vec::as_slice).unwrap_or_default();
    let pods: BTreeSet<String> = records.iter().map(|record| record.pod.to_string()).collect();
    let degraded =
        records.iter().filter_map(|record| Some(degraded_attachment(record, users.degraded.get(&record.id)?)));
    let (reason, message) =
        cause.map(|cause| (cause.reason.to_owned(), OneLine(cause.message).to_string())).unwrap_or_default();
    NetworkReport {
        name: name.to_string(),
        generation: 0,
        state,
        reason,
        message,
        attachments: i64::try_from(records.len()).unwrap_or(i64::MAX),
        connected: users.connected.get(name).copied().unwrap_or_default(),
        pods: pods.into_iter().take(PODS_MAX).collect(),
        degraded: degraded.take(DEGRADED_MAX).collect(),
    }
}

fn degraded_attachment(record: &Record, cause: &Cause) -> DegradedAttachment {
    DegradedAttachment {
        pod: record.pod.to_string(),
        uid: record.pod.uid.to_string(),
        interface: record.id.interface.to_string(),
        reason: cause.reason.to_owned(),
        message: OneLine(&cause.message).to_string(),
    }
}

fn connected(facts: Facts<'_>) -> ConditionUpdate {
    let kind = engine_connected(facts.engine);
    match facts.view {
        EngineView::Up(up) => {
            let message = message::connected(facts.engine, up.version.as_deref());
            match &up.warning {
                Some((reason, warning)) => {
                    ConditionUpdate::new(kind, Status::True, *reason, format!("{message}; {warning}"))
                }
                None => ConditionUpdate::new(kind, Status::True, CONNECTED, message),
            }
        }
        EngineView::Down(outage) => {
            ConditionUpdate::new(kind, Status::False, outage.reason, OneLine(&outage.message).to_string())
        }
    }
}

#[cfg(test)]
mod tests;
