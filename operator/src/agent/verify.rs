//! Step four of a pass: from the engine as it was read after the last change to one verdict for each network. Pure.

use super::guard::attachment_of;
use super::reason;
use std::collections::BTreeMap;
use usnet_crds::conditions::reason::{BRIDGE_EXISTS, BRIDGE_MISSING, BRIDGE_UNUSABLE};
use usnet_crds::node_state::NetworkState;
use usnet_crds::{Engine, NetworkName, NodeNetwork};
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::desired::{Desired, PortPolicy};
use usnet_dataplane::engine::OpError;
use usnet_dataplane::observed::{ElementState, Observed};
use usnet_dataplane::plan::{Blocker, Op};
use usnet_dataplane::port::AttachedPort;

/// What can be said of one network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    /// How far it is.
    pub state: NetworkState,
    /// Why it is not programmed; none when it is.
    pub why: Option<Why>,
    /// Whether pods can attach: the bridge runs, even where a port of it does not.
    pub attachable: bool,
}

/// Why a network is not programmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Why {
    /// In one word.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

impl Verdict {
    /// Everything is as the spec asks.
    pub(super) const PROGRAMMED: Self = Self { state: NetworkState::Programmed, why: None, attachable: true };

    /// It cannot be, and pods cannot attach.
    pub(super) fn failed(reason: &'static str, message: impl Into<String>) -> Self {
        let why = Some(Why { reason, message: message.into() });
        Self { state: NetworkState::Failed, why, attachable: false }
    }

    fn pending(message: String) -> Self {
        let why = Some(Why { reason: reason::WAITING, message });
        Self { state: NetworkState::Pending, why, attachable: false }
    }

    /// The bridge runs, one of its ports does not.
    fn port_failed(message: String) -> Self {
        Self { attachable: true, ..Self::failed(reason::PORT_FAILED, message) }
    }
}

/// What the verdicts are drawn from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Evidence<'a> {
    /// Which engine.
    pub engine: Engine,
    /// What the engine should have.
    pub desired: &'a Desired,
    /// What it showed after the last change.
    pub observed: &'a Observed,
    /// What is still to be done.
    pub left: &'a [Op],
    /// What only a person can move.
    pub obstacles: &'a BTreeMap<NetworkName, Blocker>,
    /// Operations that failed, and why.
    pub failures: &'a [(Op, OpError)],
    /// Why the engine as a whole did not do what it was asked.
    pub trouble: Option<&'a str>,
}

/// A verdict for each desired network.
pub(super) fn judge(evidence: Evidence<'_>) -> BTreeMap<NetworkName, Verdict> {
    let index = Index::of(evidence);
    let verdict = |network: &NodeNetwork| {
        bridge_verdict(evidence, &index, network)
            .or_else(|| port_verdict(evidence, &index, &network.name))
            .unwrap_or(Verdict::PROGRAMMED)
    };
    let networks = &evidence.desired.networks;
    networks.iter().map(|(name, network)| (name.clone(), verdict(network))).collect()
}

/// The evidence by what it is about: a node may have a thousand networks, each with pods.
#[derive(Default)]
struct Index<'a> {
    failed_bridges: BTreeMap<&'a NetworkName, &'a OpError>,
    bridges_left: BTreeMap<&'a NetworkName, &'a Op>,
    failed_ports: BTreeMap<String, (&'a Op, &'a OpError)>,
    ports_left: BTreeMap<String, &'a Op>,
    attached: BTreeMap<&'a NetworkName, Vec<(&'a AttachmentId, &'a AttachedPort)>>,
}

impl<'a> Index<'a> {
    fn of(evidence: Evidence<'a>) -> Self {
        let mut index = Self::default();
        for (operation, error) in evidence.failures {
            match (bridge_of(operation), attachment_of(operation)) {
                (Some(network), _) => drop(index.failed_bridges.insert(network, error)),
                (None, Some(attachment)) => drop(index.failed_ports.insert(attachment, (operation, error))),
                (None, None) => {}
            }
        }
        for operation in evidence.left {
            match (bridge_of(operation), attachment_of(operation)) {
                (Some(network), _) => drop(index.bridges_left.insert(network, operation)),
                (None, Some(attachment)) => drop(index.ports_left.insert(attachment, operation)),
                (None, None) => {}
            }
        }
        // Ports that the plugin is making at this moment do not count.
        let attached = evidence.desired.attachments.iter();
        for (id, attachment) in attached.filter(|(_, attachment)| attachment.policy == PortPolicy::Ensure) {
            index.attached.entry(&attachment.network).or_default().push((id, &attachment.port));
        }
        index
    }
}

/// The network that an operation is for, as far as it is known.
pub(super) fn network_of(operation: &Op) -> Option<&NetworkName> {
    match operation {
        Op::RemovePort { owner, .. } | Op::UpdatePort { owner, .. } => owner.network.as_ref(),
        Op::RemoveBridge { network, .. }
        | Op::CreateBridge { network, .. }
        | Op::UpdateBridge { network, .. }
        | Op::CreatePort { network, .. } => Some(network),
    }
}

/// The network whose bridge an operation makes or changes.
fn bridge_of(operation: &Op) -> Option<&NetworkName> {
    match operation {
        Op::CreateBridge { network, .. } | Op::UpdateBridge { network, .. } => Some(network),
        _ => None,
    }
}

/// What keeps a network from having its bridge.
fn obstacle<'a>(evidence: Evidence<'a>, network: &NetworkName) -> Option<(&'static str, &'a Blocker)> {
    let obstacle = evidence.obstacles.get(network)?;
    let reason = match obstacle {
        Blocker::BridgeExists { .. } => BRIDGE_EXISTS,
        Blocker::BridgeMissing { .. } => BRIDGE_MISSING,
        Blocker::BridgeUnusable { .. } => BRIDGE_UNUSABLE,
        // It is about a bridge that the network no longer asks for.
        Blocker::ForeignPorts { .. } => return None,
    };
    Some((reason, obstacle))
}

/// None when the bridge runs as it should.
fn bridge_verdict(evidence: Evidence<'_>, index: &Index<'_>, network: &NodeNetwork) -> Option<Verdict> {
    if let Some((reason, obstacle)) = obstacle(evidence, &network.name) {
        return Some(Verdict::failed(reason, obstacle.to_string()));
    }
    if let Some(error) = index.failed_bridges.get(&network.name) {
        return Some(Verdict::failed(reason::of(error), error.to_string()));
    }
    if let Some(operation) = index.bridges_left.get(&network.name) {
        let trouble = evidence.trouble.map(|trouble| format!(" (last try: {trouble})")).unwrap_or_default();
        return Some(Verdict::pending(format!("still to do: {operation}{trouble}")));
    }
    let (engine, bridge) = (evidence.engine, &network.bridge.name);
    match evidence.observed.bridges.get(bridge.as_str()).map(|bridge| &bridge.state) {
        Some(ElementState::Running) => None,
        Some(ElementState::Pending) | None => {
            Some(Verdict::pending(format!("{engine} has not brought up bridge {bridge} yet")))
        }
        Some(ElementState::Failed(error)) => Some(Verdict::failed(
            reason::ENGINE_REFUSED,
            format!("{engine} could not bring up bridge {bridge}: {error}"),
        )),
    }
}

/// None when the ports of all attached pods run.
fn port_verdict(evidence: Evidence<'_>, index: &Index<'_>, network: &NetworkName) -> Option<Verdict> {
    let attached = index.attached.get(network)?;
    attached.iter().find_map(|(id, port)| {
        let mark = id.to_string();
        if let Some((operation, error)) = index.failed_ports.get(&mark) {
            return Some(Verdict::port_failed(format!("cannot {operation}: {error}")));
        }
        if let (Some(operation), Some(trouble)) = (index.ports_left.get(&mark), evidence.trouble) {
            return Some(Verdict::port_failed(format!("cannot {operation}: {trouble}")));
        }
        let bridge = evidence.observed.bridges.get(port.bridge.as_str())?;
        match &bridge.ports.get(&port.name)?.state {
            ElementState::Failed(error) => Some(Verdict::port_failed(format!(
                "{} could not bring up port {} of attachment {id}: {error}",
                evidence.engine, port.name
            ))),
            ElementState::Running | ElementState::Pending => None,
        }
    })
}

#[cfg(test)]
mod tests;
