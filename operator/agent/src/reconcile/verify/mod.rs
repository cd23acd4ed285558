//! Step seven of a reconcile: computes the health of each network from the engine as it was
//! observed after the last operation. Pure.

mod programs;

pub(crate) use programs::Programs;

use crate::model::health::{Cause, NetworkHealth};
use crate::model::reason;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::conditions::message::node::{self as message, PortChange};
use usnet_crds::conditions::message::{overlay, policies};
use usnet_crds::conditions::reason::{
    BRIDGE_EXISTS, BRIDGE_MISSING, BRIDGE_UNUSABLE, ENGINE_REFUSED, ENGINE_UNSUITABLE, GATEWAY_EXISTS,
    POLICIES_UNKNOWN, POLICY_TOO_LARGE, PORT_FAILED, SOCKET_UNUSABLE, STATE_NOT_WRITABLE, WITHOUT_AF_XDP,
};
use usnet_crds::{EngineKind, NetworkName, NodeNetwork, VethDatapath};
use usnet_dataplane::attachment::{AttachmentId, Record};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::observed::{ElementState, Observed, ObservedPort, PoliciesProblem};
use usnet_dataplane::owner::{NetworkDeviceRole, Owner};
use usnet_dataplane::plan::{Blocker, Op};
use usnet_dataplane::port::{DesiredPort, PortName, PortPolicy};

/// What the health of networks is computed from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence<'a> {
    pub engine: EngineKind,
    pub desired: &'a Desired,
    /// The observed engine after the last change.
    pub observed: &'a Observed,
    /// The operations that remain to be done.
    pub remaining: &'a [Op],
    /// Conflicts that require operator action.
    pub blockers: &'a BTreeMap<NetworkName, Blocker>,
    pub failures: &'a [(Op, OpError)],
    /// Why the engine as a whole did not apply operations.
    pub engine_error: Option<&'a str>,
}

/// The health of each desired network.
pub(crate) fn evaluate(evidence: Evidence<'_>) -> BTreeMap<NetworkName, NetworkHealth> {
    let index = Index::of(evidence);
    let health = |network: &NodeNetwork| {
        bridge_health(evidence, &index, network)
            .or_else(|| ports_health(evidence, network))
            .or_else(|| policies_health(evidence, network))
            .unwrap_or(NetworkHealth::PROGRAMMED)
    };
    let networks = &evidence.desired.networks;
    networks.iter().map(|(name, network)| (name.clone(), health(network))).collect()
}

/// Marks all networks as failed, because no pod can attach while a directory cannot be written.
pub(crate) fn without_writable_directories(network_health: &mut BTreeMap<NetworkName, NetworkHealth>, problem: &str) {
    for health in network_health.values_mut().filter(|health| health.attachable) {
        *health = NetworkHealth::failed(STATE_NOT_WRITABLE, problem);
    }
}

/// Returns the attachments whose port the engine does not have, or does not run. Their network is
/// not affected: otherwise one pod could make the network of many fail.
pub(crate) fn degraded(evidence: Evidence<'_>) -> BTreeMap<AttachmentId, Cause> {
    let index = Index::of(evidence);
    let attached = index.attached.values().flatten();
    attached.filter_map(|(id, port)| Some(((*id).clone(), port_problem(evidence, &index, id, port)?))).collect()
}

/// The evidence by network and attachment, because a node may have a thousand networks, each with
/// pods.
#[derive(Default)]
struct Index<'a> {
    failed_bridges: BTreeMap<&'a NetworkName, &'a OpError>,
    remaining_bridges: BTreeSet<&'a NetworkName>,
    failed_ports: BTreeMap<&'a AttachmentId, (&'a Op, &'a OpError)>,
    remaining_ports: BTreeMap<&'a AttachmentId, &'a Op>,
    attached: BTreeMap<&'a NetworkName, Vec<(&'a AttachmentId, &'a DesiredPort)>>,
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
        for (id, port) in evidence.desired.attachments().filter(|(_, port)| port.policy == PortPolicy::Ensure) {
            let network = port.owner.network.iter();
            network.for_each(|network| index.attached.entry(network).or_default().push((id, port)));
        }
        index
    }
}

/// Returns the network whose bridge an operation creates, changes, or connects with other nodes or
/// networks.
fn bridge_of(operation: &Op) -> Option<&NetworkName> {
    match operation {
        Op::CreateBridge { bridge } | Op::TakeOverBridge { bridge } | Op::UpdateBridge { bridge } => bridge.network(),
        Op::CreatePort { port } if matches!(port.owner.owner, Owner::Network(_) | Owner::Patch(_)) => {
            port.owner.network.as_ref()
        }
        Op::Routing(operation) => operation.network(),
        _ => None,
    }
}

/// Returns what prevents the bridge of a network from being created.
fn blocker<'a>(evidence: Evidence<'a>, network: &NetworkName) -> Option<(&'static str, &'a Blocker)> {
    let blocker = evidence.blockers.get(network)?;
    let reason = match blocker {
        Blocker::BridgeExists { .. } => BRIDGE_EXISTS,
        Blocker::BridgeMissing { .. } => BRIDGE_MISSING,
        Blocker::BridgeUnusable { .. } => BRIDGE_UNUSABLE,
        Blocker::GatewayExists { .. } => GATEWAY_EXISTS,
        // This blocks the removal of a bridge that is no longer desired.
        Blocker::ForeignPorts { .. } => return None,
    };
    Some((reason, blocker))
}

/// Returns none if the bridge is up.
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
        state => Some(match state.and_then(ElementState::error) {
            Some(error) => NetworkHealth::failed(ENGINE_REFUSED, message::bridge_failed(engine, bridge, error)),
            None => NetworkHealth::pending(message::bridge_pending(engine, bridge, None)),
        }),
    }
}

/// Returns none if the ports of the network's own devices are up, or there are no such devices.
fn device_health(evidence: Evidence<'_>, network: &NodeNetwork) -> Option<NetworkHealth> {
    let roles = [NetworkDeviceRole::Overlay, NetworkDeviceRole::NodeAccess];
    roles.into_iter().find_map(|role| port_health(evidence, network, &PortName::of_device(&network.name, role)))
}

fn port_health(evidence: Evidence<'_>, network: &NodeNetwork, name: &PortName) -> Option<NetworkHealth> {
    let bridge = evidence.observed.bridges.get(network.bridge.name.as_str())?;
    let port = bridge.ports.get(name)?;
    let is_desired = port.owner.as_ref().is_some_and(|owner| evidence.desired.ports.contains_key(&owner.owner));
    let error = port.state.error().filter(|_| is_desired)?;
    Some(NetworkHealth::failed(ENGINE_REFUSED, overlay::port_failed(evidence.engine, name, error)))
}

/// Returns none if the engine supports ports of the network's type, which all its pods get, and
/// checks what these claim to be where the network asks for that.
fn ports_health(evidence: Evidence<'_>, network: &NodeNetwork) -> Option<NetworkHealth> {
    let unguardable = evidence.observed.unguardable.as_ref().filter(|_| network.port.is_guarded());
    let unusable = evidence.observed.unusable_port_types.get(&network.port.port_type).or(unguardable);
    let asks_for_af_xdp = network.port.veth.datapath == VethDatapath::AfXdp;
    let without_af_xdp = evidence.observed.without_af_xdp.as_ref().filter(|_| asks_for_af_xdp);
    match (unusable, without_af_xdp) {
        (Some(reason), _) => Some(NetworkHealth::failed(ENGINE_UNSUITABLE, reason.clone())),
        // Its ports have the other datapath, and are slower.
        (None, Some(reason)) => {
            Some(NetworkHealth { attachable: true, ..NetworkHealth::failed(ENGINE_UNSUITABLE, reason.clone()) })
        }
        (None, None) => None,
    }
}

/// Returns none if the policies of the network are enforced, or there are none.
fn policies_health(evidence: Evidence<'_>, network: &NodeNetwork) -> Option<NetworkHealth> {
    let problem = evidence.observed.unenforced.get(network.bridge.name.as_str())?;
    Some(match problem {
        PoliciesProblem::Unknown => NetworkHealth::failed(POLICIES_UNKNOWN, policies::UNKNOWN),
        PoliciesProblem::TooLarge(why) => NetworkHealth::failed(POLICY_TOO_LARGE, policies::too_large(why)),
        PoliciesProblem::Unsupported(why) => NetworkHealth::failed(ENGINE_UNSUITABLE, why.clone()),
        PoliciesProblem::Pending => NetworkHealth::pending(policies::PENDING.to_owned()),
    })
}

/// Returns the attachments whose device the engine should have by AF_XDP, and could not have so
/// when they were attached.
pub(crate) fn without_af_xdp(records: &[Record]) -> impl Iterator<Item = (AttachmentId, Cause)> {
    records.iter().filter_map(|record| {
        let why = record.port.without_af_xdp.as_ref()?;
        let message = message::without_af_xdp(&record.id.interface, why);
        Some((record.id.clone(), Cause { reason: WITHOUT_AF_XDP, message }))
    })
}

/// Returns none if the port of an attached pod is up, or is not due yet.
fn port_problem(evidence: Evidence<'_>, index: &Index<'_>, id: &AttachmentId, port: &DesiredPort) -> Option<Cause> {
    let failed = |message| Some(Cause { reason: PORT_FAILED, message });
    let change_failed =
        |operation: &Op, why: &str| failed(message::port_change_failed(port_change(operation), &port.name, id, why));
    let observed = port.bridge_name().and_then(|name| evidence.observed.bridges.get(name.as_str()));
    let observed = observed.and_then(|bridge| bridge.ports.get(&port.name));
    let problem = match (index.failed_ports.get(id), index.remaining_ports.get(id), evidence.engine_error) {
        (Some((_, OpError::SocketUnusable { reason, .. })), ..) => {
            return Some(Cause { reason: SOCKET_UNUSABLE, message: message::socket_unusable(&id.interface, reason) });
        }
        (Some((operation, error)), ..) => change_failed(operation, &reason::message(error)),
        (None, Some(operation), Some(error)) => change_failed(operation, error),
        (None, ..) => match observed.filter(|port| port.owner.is_some()).map(|port| &port.state) {
            Some(ElementState::Failed(error)) => failed(message::port_failed(evidence.engine, &port.name, id, error)),
            // A port is reported to have no memory only after some time: see `Programs`.
            Some(ElementState::Running | ElementState::Pending | ElementState::NoMemory) => None,
            None => {
                let what = format!("port {} of bridge {}", port.name, foreign_port(evidence, &port.name)?);
                let why = message::object_exists(&what);
                failed(message::port_change_failed(PortChange::Create, &port.name, id, &why))
            }
        },
    }?;
    // A problem of all ports of a type explains more than the error of a single port.
    let unusable = port.backend.port_type().and_then(|kind| evidence.observed.unusable_port_types.get(&kind));
    match unusable {
        Some(reason) => failed(message::port_unusable(&id.interface, reason)),
        None => Some(problem),
    }
}

/// Returns the bridge on which a port that usnet does not own has this name, for which there is no
/// operation: the engine would refuse a second one.
fn foreign_port<'a>(evidence: Evidence<'a>, name: &PortName) -> Option<&'a str> {
    let mut bridges = evidence.observed.bridges.iter();
    let has = |port: Option<&ObservedPort>| port.is_some_and(|port| port.owner.is_none());
    bridges.find(|(_, bridge)| has(bridge.ports.get(name))).map(|(bridge, _)| bridge.as_str())
}

const fn port_change(operation: &Op) -> PortChange {
    match operation {
        Op::RemovePort { .. } | Op::RemoveBridge { .. } => PortChange::Delete,
        Op::TakeOverPort { .. } | Op::TakeOverBridge { .. } | Op::UpdatePort { .. } | Op::UpdateBridge { .. } => {
            PortChange::Update
        }
        Op::CreatePort { .. } | Op::CreateBridge { .. } | Op::SetAddress { .. } => PortChange::Create,
        Op::Routing(_) => PortChange::Update,
    }
}

#[cfg(test)]
mod tests;
