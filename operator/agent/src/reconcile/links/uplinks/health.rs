//! Computes the health of uplinks and of their networks from the NICs and the engine. Pure.

use super::addresses::Addresses;
use super::bond;
use super::nic_cause::of_nic;
use super::prepared::{PreparedUplinks, UplinkEvidence};
use super::uplink_health::UplinkHealth;
use crate::model::health::{Cause, NetworkHealth};
use crate::model::reason;
use crate::reconcile::links::health::LinkHealth;
use std::collections::BTreeMap;
use usnet_common::display::ErrorChain;
use usnet_crds::conditions::message::{overlay, uplink as message};
use usnet_crds::conditions::reason::{
    BRIDGE_EXISTS, DEVICE_FAILED, ENGINE_REFUSED, NIC_LOST, NIC_MERGES_PACKETS, NIC_STRIPS_TAGS, NIC_TAKEN,
    UPLINK_NOT_READY, WAITING,
};
use usnet_crds::uplink::report::{UplinkReport, UplinkState};
use usnet_crds::{NetworkName, NodeUplink, UplinkName};
use usnet_dataplane::links::nics::ResolvedUplink;
use usnet_dataplane::observed::{ElementState, ObservedPort, Peer};
use usnet_dataplane::owner::{NetworkTunnel, Owner};
use usnet_dataplane::plan::{Op, UplinkBlocker, has_address, has_port, uplink_blockers};
use usnet_dataplane::port::{DesiredPort, PortBackend};
use usnet_dataplane::underlay::DesiredTunnels;

pub(super) fn of_uplinks(
    prepared: &PreparedUplinks,
    evidence: UplinkEvidence<'_>,
    addresses: &Addresses,
) -> BTreeMap<UplinkName, UplinkHealth> {
    let blockers = uplink_blockers(evidence.desired, evidence.observed);
    let health = |uplink: &NodeUplink| {
        let health = of_uplink(uplink, prepared, evidence, blockers.get(&uplink.name));
        with_address(health, uplink, evidence, addresses)
    };
    prepared.specs.iter().map(|(name, uplink)| (name.clone(), health(uplink))).collect()
}

/// Adds the address for overlays to the health of an uplink whose NIC works.
fn with_address(
    health: UplinkHealth,
    uplink: &NodeUplink,
    evidence: UplinkEvidence<'_>,
    addresses: &Addresses,
) -> UplinkHealth {
    if health.cause.is_some() || health.is_pending {
        return health;
    }
    if let Some((device, error)) = addresses.failure(&uplink.name) {
        let message = message::address_failed(device, &ErrorChain(error));
        return UplinkHealth::failed(Cause { reason: DEVICE_FAILED, message });
    }
    let desired = evidence.desired.uplinks.get(&uplink.name);
    let is_there = desired.is_none_or(|desired| has_address(desired, evidence.observed));
    UplinkHealth { is_pending: !is_there || !addresses.is_set(&uplink.name), ..health }
}

fn of_uplink(
    uplink: &NodeUplink,
    prepared: &PreparedUplinks,
    evidence: UplinkEvidence<'_>,
    blocker: Option<&UplinkBlocker>,
) -> UplinkHealth {
    let resolved = prepared.resolved.get(&uplink.name);
    let nic = resolved.and_then(ResolvedUplink::blocker).map(of_nic);
    let (merging, nic) = match nic {
        Some(cause) if [NIC_MERGES_PACKETS, NIC_STRIPS_TAGS].contains(&cause.reason) => (Some(cause), None),
        other => (None, other),
    };
    if let Some(cause) = nic {
        return UplinkHealth { is_attachable: cause.reason == NIC_LOST, ..UplinkHealth::failed(cause) };
    }
    if let Some(blocker) = blocker {
        return UplinkHealth::failed(of_blocker(blocker));
    }
    let failure = evidence.failures.iter().find(|(operation, _)| operation.uplink() == Some(&uplink.name));
    if let Some((operation, error)) = failure {
        let message = message::change_failed(operation, &reason::message(error));
        return UplinkHealth::failed(Cause { reason: reason::of(error), message });
    }
    if !evidence.desired.uplinks.contains_key(&uplink.name) {
        return UplinkHealth::default();
    }
    let bridges = evidence.observed.bridges.values().filter(|bridge| bridge.uplink() == Some(&uplink.name));
    let is_nic = |owner: &Owner| matches!(owner, Owner::Nic(nic) if nic.uplink == uplink.name);
    let mut ports = bridges.flat_map(|bridge| &bridge.ports).chain(&evidence.observed.unbridged_ports);
    let nic = ports.find(|(_, port)| port.owner.as_ref().is_some_and(|owner| is_nic(&owner.owner)));
    match nic {
        None => UplinkHealth { is_pending: true, ..UplinkHealth::default() },
        Some((name, port)) => match port.state.error() {
            Some(problem) => {
                let name = port.backend.as_ref().map_or_else(|| name.to_string(), PortBackend::endpoint_name);
                let message = message::nic_failed(uplink.engine, &name, problem);
                UplinkHealth::failed(Cause { reason: ENGINE_REFUSED, message })
            }
            None if is_without_carrier(port) => {
                let name = port.backend.as_ref().map(PortBackend::endpoint_name).unwrap_or_default();
                let cause = Cause { reason: NIC_LOST, message: message::nic_without_carrier(&name) };
                UplinkHealth { is_attachable: true, ..UplinkHealth::failed(cause) }
            }
            None if port.backend.as_ref().is_some_and(PortBackend::is_bond) => bond::health(port, resolved),
            None => UplinkHealth { is_attachable: merging.is_some(), cause: merging, ..UplinkHealth::default() },
        },
    }
}

/// Whether the link of a NIC is down that only the engine sees.
fn is_without_carrier(port: &ObservedPort) -> bool {
    let is_running = port.state == ElementState::Running;
    is_running
        && matches!(port.backend, Some(PortBackend::Dpdk { .. } | PortBackend::Bond { .. }))
        && port.peer == Peer::Absent
}

fn of_blocker(blocker: &UplinkBlocker) -> Cause {
    match blocker {
        UplinkBlocker::BridgeExists { bridge } => {
            Cause { reason: BRIDGE_EXISTS, message: message::bridge_exists(bridge) }
        }
        UplinkBlocker::NicTaken { nic, holder } => {
            Cause { reason: NIC_TAKEN, message: message::nic_taken(nic, holder) }
        }
    }
}

/// Returns the networks that are not connected, and why. Pods can attach to a network whose NIC is
/// out of service: its bridge works.
pub(super) fn of_networks(
    prepared: &PreparedUplinks,
    uplinks: &BTreeMap<UplinkName, UplinkHealth>,
    evidence: UplinkEvidence<'_>,
) -> LinkHealth {
    let blocked = |network: &NetworkName, name: &UplinkName| {
        if let Some(cause) = prepared.refused.get(network) {
            return Some(NetworkHealth::failed(cause.reason, cause.message.clone()));
        }
        let uplink = uplinks.get(name)?;
        match &uplink.cause {
            Some(cause) => Some(NetworkHealth {
                attachable: uplink.is_attachable,
                ..NetworkHealth::failed(UPLINK_NOT_READY, message::not_ready(name, &cause.message))
            }),
            None => uplink.is_pending.then(|| NetworkHealth::pending(message::connecting(name))),
        }
    };
    let of_patch = |port: &DesiredPort| {
        let (network, uplink) = (port.owner.network.as_ref()?, port.uplink.as_ref()?);
        let pending = || NetworkHealth::pending(message::connecting(uplink));
        let health = blocked(network, uplink);
        let health = health.or_else(|| (!has_port(port, evidence.observed)).then(pending))?;
        Some((network.clone(), health))
    };
    let of_tunnels = |tunnels: &DesiredTunnels| {
        blocked(&tunnels.network, &tunnels.uplink).or_else(|| of_each(tunnels, prepared, evidence))
    };
    let patches = prepared.patches.iter().filter_map(of_patch);
    let tunnels = prepared.tunnels.iter();
    patches.chain(tunnels.filter_map(|tunnels| Some((tunnels.network.clone(), of_tunnels(tunnels)?)))).collect()
}

/// Returns why a network's tunnels do not all work; none if they do. Pods can attach to it: without
/// a tunnel they still reach all others.
fn of_each(
    tunnels: &DesiredTunnels,
    prepared: &PreparedUplinks,
    evidence: UplinkEvidence<'_>,
) -> Option<NetworkHealth> {
    let engine = prepared.specs.get(&tunnels.uplink)?.engine;
    let bridge = evidence.observed.bridges.get(tunnels.bridge.as_str())?;
    let failed = |tunnel: &DesiredPort| {
        let problem = bridge.ports.get(&tunnel.name)?.state.error()?;
        let Owner::Tunnel(NetworkTunnel { peer, .. }) = &tunnel.owner.owner else { return None };
        Some(overlay::tunnel_failed(engine, *peer, problem))
    };
    let is_of_network = |operation: &Op| operation.network() == Some(&tunnels.network);
    let refused = evidence.failures.iter().find_map(|(operation, error)| match operation {
        Op::CreatePort { port } if matches!(port.owner.owner, Owner::Tunnel(_)) && is_of_network(operation) => {
            Some(message::change_failed(operation, &reason::message(error)))
        }
        _ => None,
    });
    let problem = tunnels.ports().find_map(|tunnel| failed(&tunnel)).or(refused);
    let health = match problem {
        Some(message) => NetworkHealth::failed(ENGINE_REFUSED, message),
        None if tunnels.ports().all(|tunnel| has_port(&tunnel, evidence.observed)) => return None,
        None => NetworkHealth::pending(overlay::TUNNELS_PENDING.to_owned()),
    };
    Some(NetworkHealth { attachable: true, ..health })
}

/// The report of an uplink.
pub(super) fn report(
    uplink: &NodeUplink,
    prepared: &PreparedUplinks,
    health: &BTreeMap<UplinkName, UplinkHealth>,
) -> UplinkReport {
    let nic = prepared.resolved.get(&uplink.name).and_then(ResolvedUplink::name);
    let health = health.get(&uplink.name);
    let (state, reason, message) = match health {
        Some(UplinkHealth { cause: Some(cause), .. }) => (UplinkState::Failed, cause.reason, cause.message.clone()),
        None | Some(UplinkHealth { is_pending: true, .. }) => {
            (UplinkState::Pending, WAITING, message::PENDING.to_owned())
        }
        Some(UplinkHealth { degraded: Some(cause), .. }) => {
            (UplinkState::Programmed, cause.reason, cause.message.clone())
        }
        Some(_) => (UplinkState::Programmed, "", String::new()),
    };
    UplinkReport {
        name: uplink.name.to_string(),
        generation: uplink.generation,
        state,
        reason: reason.to_owned(),
        message,
        nic: nic.unwrap_or_default(),
        active_member: health.and_then(|health| health.active.clone()).unwrap_or_default(),
    }
}
