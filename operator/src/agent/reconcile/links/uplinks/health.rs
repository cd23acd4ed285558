//! What the NICs and the engine mean for uplinks and their networks. Pure.

use super::addresses::Addresses;
use super::prepared::{PreparedUplinks, UplinkEvidence};
use crate::agent::model::health::{NetworkHealth, Why};
use crate::agent::model::reason;
use crate::agent::reconcile::links::health::LinkHealth;
use crate::display::ErrorChain;
use std::collections::BTreeMap;
use std::fmt::Display;
use usnet_crds::conditions::message::{overlay, uplink as message};
use usnet_crds::conditions::reason::{
    BRIDGE_EXISTS, DEVICE_FAILED, ENGINE_REFUSED, MISSING_PRIVILEGE, NIC_CARRIES_NODE, NIC_LOST, NIC_MERGES_PACKETS,
    NIC_MISSING, NIC_TAKEN, UPLINK_NOT_READY, UPLINK_UNSUPPORTED, WAITING,
};
use usnet_crds::uplink::report::{UplinkReport, UplinkState};
use usnet_crds::{NetworkName, NodeUplink, UplinkName};
use usnet_dataplane::links::nics::NicBlocker;
use usnet_dataplane::observed::ElementState;
use usnet_dataplane::owner::Owner;
use usnet_dataplane::plan::{Op, UplinkBlocker, UplinkOp, has_address, has_tunnels, is_connected, uplink_blockers};
use usnet_dataplane::underlay::{DesiredTunnels, Tunnel};
use usnet_dataplane::uplink::PatchPair;

/// The health of one uplink.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct UplinkHealth {
    /// Why it is not programmed, unless that is pending.
    pub(super) why: Option<Why>,
    /// Whether operations are left to be done.
    pub(super) is_pending: bool,
    /// Whether pods may attach all the same: the NIC was there, and comes back by itself; or it
    /// carries frames, although not all.
    is_attachable: bool,
}

impl UplinkHealth {
    fn failed(why: Why) -> Self {
        Self { why: Some(why), ..Self::default() }
    }
}

/// The health of each uplink.
pub(super) fn of_uplinks(
    prepared: &PreparedUplinks,
    evidence: UplinkEvidence<'_>,
    addresses: &Addresses,
) -> BTreeMap<UplinkName, UplinkHealth> {
    let blockers = uplink_blockers(evidence.desired, evidence.observed);
    let health = |uplink: &NodeUplink| {
        let health = of_uplink(uplink, prepared, (evidence, blockers.get(&uplink.name)));
        with_address(health, uplink, (evidence, addresses))
    };
    prepared.specs.iter().map(|(name, uplink)| (name.clone(), health(uplink))).collect()
}

/// The address for overlays comes after the NIC.
fn with_address(
    health: UplinkHealth,
    uplink: &NodeUplink,
    (evidence, addresses): (UplinkEvidence<'_>, &Addresses),
) -> UplinkHealth {
    if health.why.is_some() || health.is_pending {
        return health;
    }
    if let Some((device, error)) = addresses.failure(&uplink.name) {
        let message = message::address_failed(device, &ErrorChain(error));
        return UplinkHealth::failed(Why { reason: DEVICE_FAILED, message });
    }
    let desired = evidence.desired.uplinks.get(&uplink.name);
    let is_there = desired.is_none_or(|desired| has_address(desired, evidence.observed));
    UplinkHealth { is_pending: !is_there || !addresses.is_set(&uplink.name), ..health }
}

fn of_uplink(
    uplink: &NodeUplink,
    prepared: &PreparedUplinks,
    (evidence, blocker): (UplinkEvidence<'_>, Option<&UplinkBlocker>),
) -> UplinkHealth {
    let resolved = prepared.resolved.get(&uplink.name);
    let nic = resolved.and_then(|resolved| resolved.blocker.as_ref()).map(of_nic);
    let (merging, nic) = match nic {
        Some(why) if why.reason == NIC_MERGES_PACKETS => (Some(why), None),
        other => (None, other),
    };
    if let Some(why) = nic {
        return UplinkHealth { is_attachable: why.reason == NIC_LOST, ..UplinkHealth::failed(why) };
    }
    if let Some(blocker) = blocker {
        return UplinkHealth::failed(of_blocker(blocker));
    }
    let failure = evidence.failures.iter().find(|(operation, _)| operation.uplink() == Some(&uplink.name));
    if let Some((operation, error)) = failure {
        let message = message::change_failed(operation, &reason::message(error));
        return UplinkHealth::failed(Why { reason: reason::of(error), message });
    }
    if !evidence.desired.uplinks.contains_key(&uplink.name) {
        return UplinkHealth::default();
    }
    let bridges = evidence.observed.bridges.values().filter(|bridge| bridge.uplink.as_ref() == Some(&uplink.name));
    let is_nic = |owner: &Owner| matches!(owner, Owner::Nic(nic) if nic.uplink == uplink.name);
    let mut ports = bridges.flat_map(|bridge| &bridge.ports).chain(&evidence.observed.unbridged_ports);
    let nic = ports.find(|(_, port)| port.owner.as_ref().is_some_and(|owner| is_nic(&owner.owner)));
    match nic.map(|(name, port)| (name, &port.state)) {
        None => UplinkHealth { is_pending: true, ..UplinkHealth::default() },
        Some((name, ElementState::Failed(problem))) => {
            let message = message::nic_failed(uplink.engine, name, problem);
            UplinkHealth::failed(Why { reason: ENGINE_REFUSED, message })
        }
        Some((_, ElementState::Running | ElementState::Pending)) => {
            UplinkHealth { is_attachable: merging.is_some(), why: merging, is_pending: false }
        }
    }
}

fn of_blocker(blocker: &UplinkBlocker) -> Why {
    match blocker {
        UplinkBlocker::BridgeExists { bridge } => {
            Why { reason: BRIDGE_EXISTS, message: message::bridge_exists(bridge) }
        }
        UplinkBlocker::NicTaken { nic, holder } => Why { reason: NIC_TAKEN, message: message::nic_taken(nic, holder) },
    }
}

fn of_nic(blocker: &NicBlocker) -> Why {
    let (reason, message) = match blocker {
        NicBlocker::MissingPrivilege => (MISSING_PRIVILEGE, message::MISSING_PRIVILEGE.to_owned()),
        NicBlocker::Unsupported { what } => (UPLINK_UNSUPPORTED, message::unsupported(what)),
        NicBlocker::Missing { wanted } => (NIC_MISSING, message::nic_missing(wanted)),
        NicBlocker::Ambiguous { wanted, found } => (NIC_MISSING, message::nic_ambiguous(wanted, found)),
        NicBlocker::CarriesNode { nic, what } => (NIC_CARRIES_NODE, message::nic_carries_node(nic, what)),
        NicBlocker::SharedUntagged { nic } => (NIC_CARRIES_NODE, message::nic_shared_untagged(nic)),
        NicBlocker::Taken { nic, uplink } => (NIC_TAKEN, message::nic_taken(nic, &format!("uplink {uplink}"))),
        NicBlocker::Lost { nic, renamed } => {
            (NIC_LOST, message::nic_lost(nic, renamed.as_ref().map(|name| name as &dyn Display)))
        }
        NicBlocker::Down { nic } => (NIC_LOST, message::nic_down(nic)),
        NicBlocker::NotIsolated { nic, why } => (DEVICE_FAILED, message::nic_not_isolated(nic, why)),
        NicBlocker::NoCarrier { nic } => (NIC_LOST, message::nic_without_carrier(nic)),
        NicBlocker::MergesPackets { nic, offloads } => (NIC_MERGES_PACKETS, message::nic_merges_packets(nic, offloads)),
    };
    Why { reason, message }
}

/// Networks that are not connected, and why. One whose NIC is out of service takes pods all the
/// same: its bridge works.
pub(super) fn of_networks(
    prepared: &PreparedUplinks,
    uplinks: &BTreeMap<UplinkName, UplinkHealth>,
    evidence: UplinkEvidence<'_>,
) -> LinkHealth {
    let blocked = |network: &NetworkName, name: &UplinkName| {
        if let Some(why) = prepared.refused.get(network) {
            return Some(NetworkHealth::failed(why.reason, why.message.clone()));
        }
        let uplink = uplinks.get(name)?;
        match &uplink.why {
            Some(why) => Some(NetworkHealth {
                attachable: uplink.is_attachable,
                ..NetworkHealth::failed(UPLINK_NOT_READY, message::not_ready(name, &why.message))
            }),
            None => uplink.is_pending.then(|| NetworkHealth::pending(message::connecting(name))),
        }
    };
    let of_pair = |pair: &PatchPair| {
        let pending = || NetworkHealth::pending(message::connecting(&pair.uplink));
        let health = blocked(&pair.network, &pair.uplink);
        health.or_else(|| (!is_connected(pair, evidence.observed)).then(pending))
    };
    let of_tunnels = |tunnels: &DesiredTunnels| {
        blocked(&tunnels.network, &tunnels.uplink).or_else(|| of_each(tunnels, prepared, evidence))
    };
    let patches = prepared.patches.iter().map(|patch| &patch.pair);
    let patches = patches.filter_map(|pair| Some((pair.network.clone(), of_pair(pair)?)));
    let tunnels = prepared.tunnels.iter();
    patches.chain(tunnels.filter_map(|tunnels| Some((tunnels.network.clone(), of_tunnels(tunnels)?)))).collect()
}

/// A network reaches its other pods also without a tunnel.
fn of_each(
    tunnels: &DesiredTunnels,
    prepared: &PreparedUplinks,
    evidence: UplinkEvidence<'_>,
) -> Option<NetworkHealth> {
    let engine = prepared.specs.get(&tunnels.uplink)?.engine;
    let bridge = evidence.observed.bridges.get(tunnels.bridge.as_str())?;
    let failed = |tunnel: &Tunnel| match &bridge.ports.get(&tunnel.name)?.state {
        ElementState::Failed(problem) => Some(overlay::tunnel_failed(engine, tunnel.ends.remote, problem)),
        ElementState::Running | ElementState::Pending => None,
    };
    let is_of_network = |operation: &Op| operation.network() == Some(&tunnels.network);
    let refused = evidence.failures.iter().find_map(|(operation, error)| match operation {
        Op::Uplink(UplinkOp::CreateTunnel { .. }) if is_of_network(operation) => {
            Some(message::change_failed(operation, &reason::message(error)))
        }
        _ => None,
    });
    let problem = tunnels.iter().find_map(|tunnel| failed(&tunnel)).or(refused);
    let health = match problem {
        Some(message) => NetworkHealth::failed(ENGINE_REFUSED, message),
        None if has_tunnels(tunnels, evidence.observed) => return None,
        None => NetworkHealth::pending(overlay::TUNNELS_PENDING.to_owned()),
    };
    Some(NetworkHealth { attachable: true, ..health })
}

/// What is reported of an uplink.
pub(super) fn report(
    uplink: &NodeUplink,
    prepared: &PreparedUplinks,
    health: &BTreeMap<UplinkName, UplinkHealth>,
) -> UplinkReport {
    let nic = prepared.resolved.get(&uplink.name).and_then(|resolved| resolved.device.as_ref());
    let health = health.get(&uplink.name);
    let (state, reason, message) = match health.map(|health| (&health.why, health.is_pending)) {
        Some((Some(why), _)) => (UplinkState::Failed, why.reason, why.message.clone()),
        Some((None, true)) | None => (UplinkState::Pending, WAITING, message::PENDING.to_owned()),
        Some((None, false)) => (UplinkState::Programmed, "", String::new()),
    };
    UplinkReport {
        name: uplink.name.to_string(),
        generation: uplink.generation,
        state,
        reason: reason.to_owned(),
        message,
        nic: nic.map(|nic| nic.device.to_string()).unwrap_or_default(),
    }
}
