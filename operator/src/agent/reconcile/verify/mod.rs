//! Step seven of a reconcile: the health of each network, from the engine as it was observed after
//! the last operation. Pure.

mod programs;

pub(crate) use programs::Programs;

use crate::agent::model::health::{NetworkHealth, Why};
use crate::agent::model::reason;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::conditions::message::node::{self as message, PortChange};
use usnet_crds::conditions::message::overlay;
use usnet_crds::conditions::reason::{
    BRIDGE_EXISTS, BRIDGE_MISSING, BRIDGE_UNUSABLE, ENGINE_REFUSED, ENGINE_UNSUITABLE, GATEWAY_EXISTS, PORT_FAILED,
    SOCKET_UNUSABLE, STATE_NOT_WRITABLE,
};
use usnet_crds::{EngineKind, NetworkName, NodeNetwork};
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::observed::{ElementState, Observed};
use usnet_dataplane::plan::{Blocker, Op, UplinkOp};
use usnet_dataplane::port::AttachedPort;
use usnet_dataplane::port::PortPolicy;

/// What the health of networks is computed from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence<'a> {
    /// Which engine.
    pub engine: EngineKind,
    /// The desired state of the engine.
    pub desired: &'a Desired,
    /// The observed engine after the last change.
    pub observed: &'a Observed,
    /// The operations that remain to be done.
    pub remaining: &'a [Op],
    /// What requires operator action.
    pub blockers: &'a BTreeMap<NetworkName, Blocker>,
    /// Operations that failed, and why.
    pub failures: &'a [(Op, OpError)],
    /// Why the engine as a whole did not apply operations.
    pub engine_error: Option<&'a str>,
}

/// The health of each desired network.
pub(crate) fn evaluate(evidence: Evidence<'_>) -> BTreeMap<NetworkName, NetworkHealth> {
    let index = Index::of(evidence);
    let health = |network: &NodeNetwork| {
        bridge_health(evidence, &index, network)
            .or_else(|| type_health(evidence, network))
            .unwrap_or(NetworkHealth::PROGRAMMED)
    };
    let networks = &evidence.desired.networks;
    networks.iter().map(|(name, network)| (name.clone(), health(network))).collect()
}

/// Without directories that can be written no pod can attach, whatever the engine has.
pub(crate) fn without_writable_directories(network_health: &mut BTreeMap<NetworkName, NetworkHealth>, problem: &str) {
    for health in network_health.values_mut().filter(|health| health.attachable) {
        *health = NetworkHealth::failed(STATE_NOT_WRITABLE, problem);
    }
}

/// The attachments whose port the engine does not have, or does not run. Their network is not
/// affected: else one pod could make a network of many fail.
pub(crate) fn degraded(evidence: Evidence<'_>) -> BTreeMap<AttachmentId, Why> {
    let index = Index::of(evidence);
    let attached = index.attached.values().flatten();
    attached.filter_map(|(id, port)| Some(((*id).clone(), port_problem(evidence, &index, (id, port))?))).collect()
}

/// The evidence by network and attachment: a node may have a thousand networks, each with pods.
#[derive(Default)]
struct Index<'a> {
    failed_bridges: BTreeMap<&'a NetworkName, &'a OpError>,
    remaining_bridges: BTreeSet<&'a NetworkName>,
    failed_ports: BTreeMap<&'a AttachmentId, (&'a Op, &'a OpError)>,
    remaining_ports: BTreeMap<&'a AttachmentId, &'a Op>,
    attached: BTreeMap<&'a NetworkName, Vec<(&'a AttachmentId, &'a AttachedPort)>>,
}

impl<'a> Index<'a> {
    fn of(evidence: Evidence<'a>) -> Self {
        let mut index = Self::default();
        for (operation, error) in evidence.failures {
            match (bridge_of(operation), operation.attachment()) {
                (Some(network), _) => drop(index.failed_bridges.insert(network, error)),
                (None, Some(attachment)) => drop(index.failed_ports.insert(attachment, (operation, error))),
                (None, None) => {}
            }
        }
        for operation in evidence.remaining {
            match (bridge_of(operation), operation.attachment()) {
                (Some(network), _) => drop(index.remaining_bridges.insert(network)),
                (None, Some(attachment)) => drop(index.remaining_ports.insert(attachment, operation)),
                (None, None) => {}
            }
        }
        // Ports that the plugin is creating at this moment do not count.
        let attached = evidence.desired.attachments.iter();
        for (id, attachment) in attached.filter(|(_, attachment)| attachment.policy == PortPolicy::Ensure) {
            index.attached.entry(&attachment.network).or_default().push((id, &attachment.port));
        }
        index
    }
}

/// The network whose bridge an operation creates, changes, or joins with other nodes or networks.
fn bridge_of(operation: &Op) -> Option<&NetworkName> {
    match operation {
        Op::CreateBridge { network, .. } | Op::UpdateBridge { network, .. } => Some(network),
        Op::JoinDevice { port } => Some(&port.device.network),
        Op::Uplink(UplinkOp::Connect { pair }) => Some(&pair.network),
        Op::Routing(operation) => operation.network(),
        _ => None,
    }
}

/// What prevents the bridge of a network from being created.
fn blocker<'a>(evidence: Evidence<'a>, network: &NetworkName) -> Option<(&'static str, &'a Blocker)> {
    let blocker = evidence.blockers.get(network)?;
    let reason = match blocker {
        Blocker::BridgeExists { .. } => BRIDGE_EXISTS,
        Blocker::BridgeMissing { .. } => BRIDGE_MISSING,
        Blocker::BridgeUnusable { .. } => BRIDGE_UNUSABLE,
        Blocker::GatewayExists { .. } => GATEWAY_EXISTS,
        // It is about a bridge that is no longer desired.
        Blocker::ForeignPorts { .. } => return None,
    };
    Some((reason, blocker))
}

/// None when the bridge is up.
fn bridge_health(evidence: Evidence<'_>, index: &Index<'_>, network: &NodeNetwork) -> Option<NetworkHealth> {
    if let Some((reason, blocker)) = blocker(evidence, &network.name) {
        return Some(NetworkHealth::failed(reason, blocker.to_string()));
    }
    if let Some(error) = index.failed_bridges.get(&network.name) {
        return Some(NetworkHealth::failed(reason::of(error), reason::message(error)));
    }
    let (engine, bridge) = (evidence.engine, &network.bridge.name);
    if index.remaining_bridges.contains(&network.name) {
        return Some(NetworkHealth::pending(message::bridge_pending(engine, bridge, evidence.engine_error)));
    }
    match evidence.observed.bridges.get(bridge.as_str()).map(|bridge| &bridge.state) {
        Some(ElementState::Running) => device_health(evidence, network),
        Some(ElementState::Pending) | None => {
            Some(NetworkHealth::pending(message::bridge_pending(engine, bridge, None)))
        }
        Some(ElementState::Failed(error)) => {
            Some(NetworkHealth::failed(ENGINE_REFUSED, message::bridge_failed(engine, bridge, error)))
        }
    }
}

/// None when the port of the network's own device is up, if it has one.
fn device_health(evidence: Evidence<'_>, network: &NodeNetwork) -> Option<NetworkHealth> {
    let port = evidence.desired.network_ports.get(&network.name)?;
    let bridge = evidence.observed.bridges.get(network.bridge.name.as_str())?;
    match &bridge.ports.get(&port.name)?.state {
        ElementState::Failed(error) => {
            let message = overlay::port_failed(evidence.engine, &port.name, error);
            Some(NetworkHealth::failed(ENGINE_REFUSED, message))
        }
        ElementState::Running | ElementState::Pending => None,
    }
}

/// None when the engine has ports of the network's type, which all pods of it get.
fn type_health(evidence: Evidence<'_>, network: &NodeNetwork) -> Option<NetworkHealth> {
    let reason = evidence.observed.unusable_port_types.get(&network.port.port_type)?;
    Some(NetworkHealth::failed(ENGINE_UNSUITABLE, reason.clone()))
}

/// None when the port of an attached pod is up, or not due yet.
fn port_problem(evidence: Evidence<'_>, index: &Index<'_>, (id, port): (&AttachmentId, &AttachedPort)) -> Option<Why> {
    let failed = |message| Some(Why { reason: PORT_FAILED, message });
    let change_failed =
        |operation: &Op, why: &str| failed(message::port_change_failed(port_change(operation), &port.name, id, why));
    let observed = evidence.observed.bridges.get(port.bridge.as_str()).and_then(|it| it.ports.get(&port.name));
    let problem = match (index.failed_ports.get(id), index.remaining_ports.get(id), evidence.engine_error) {
        (Some((_, OpError::SocketUnusable { reason, .. })), ..) => {
            return Some(Why { reason: SOCKET_UNUSABLE, message: message::socket_unusable(&id.interface, reason) });
        }
        (Some((operation, error)), ..) => change_failed(operation, &reason::message(error)),
        (None, Some(operation), Some(error)) => change_failed(operation, error),
        (None, ..) => match &observed?.state {
            ElementState::Failed(error) => failed(message::port_failed(evidence.engine, &port.name, id, error)),
            ElementState::Running | ElementState::Pending => None,
        },
    }?;
    // What is wrong with all ports of a type explains more than the error of one.
    match evidence.observed.unusable_port_types.get(&port.backend.port_type()) {
        Some(reason) => failed(message::port_failed(evidence.engine, &port.name, id, reason)),
        None => Some(problem),
    }
}

const fn port_change(operation: &Op) -> PortChange {
    match operation {
        Op::RemovePort { .. } | Op::RemoveBridge { .. } => PortChange::Delete,
        Op::UpdatePort { .. } | Op::UpdateBridge { .. } => PortChange::Update,
        Op::CreatePort { .. } | Op::JoinDevice { .. } | Op::CreateBridge { .. } | Op::Uplink(_) => PortChange::Create,
        Op::Routing(_) => PortChange::Update,
    }
}

#[cfg(test)]
mod tests;
