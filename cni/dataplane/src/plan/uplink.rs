//! Uplinks in a plan: what stays of them, and what is in the way of one.

use crate::model::desired::Desired;
use crate::model::observed::{Observed, ObservedBridge, ObservedPort};
use crate::model::owner::{Owner, PatchedNetwork, PortOwner, UplinkNic};
use crate::model::port::{DeviceName, PortBackend, PortName};
use crate::model::tagging::Tagging;
use crate::model::uplink::{DesiredUplink, KernelNic, PatchPair, PatchPort};
use std::collections::BTreeMap;
use usnet_crds::{BridgeName, MacLearning, Ownership, UplinkName};

/// What prevents an uplink from having its bridge or NIC, and requires operator action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UplinkBlocker {
    /// A bridge or port of the bridge's name is there and is not the uplink's.
    BridgeExists {
        /// Its name.
        bridge: String,
    },
    /// Something else in the engine has the NIC.
    NicTaken {
        /// The NIC.
        nic: DeviceName,
        /// That bridge or interface.
        holder: String,
    },
}

/// The uplinks that [`plan`](super::plan()) cannot converge, and why.
pub fn uplink_blockers(desired: &Desired, observed: &Observed) -> BTreeMap<UplinkName, UplinkBlocker> {
    let blocked = desired.uplinks.values().filter_map(|uplink| Some((uplink.name.clone(), blocker(uplink, observed)?)));
    blocked.collect()
}

fn blocker(uplink: &DesiredUplink, observed: &Observed) -> Option<UplinkBlocker> {
    if let Some(bridge) = taken_bridge(uplink, observed) {
        return Some(UplinkBlocker::BridgeExists { bridge });
    }
    let nic = uplink.nic.as_ref()?.device.clone();
    if let Some(interface) = observed.taken_devices.get(&nic) {
        return Some(UplinkBlocker::NicTaken { nic, holder: format!("interface {interface} of the engine") });
    }
    let port = PortName::from(&nic);
    let is_of_others = |port: &ObservedPort| !port.owner.as_ref().is_some_and(|owner| uplink.has(owner));
    let (bridge, _) = observed.bridges.iter().find(|(_, bridge)| bridge.ports.get(&port).is_some_and(is_of_others))?;
    Some(UplinkBlocker::NicTaken { nic, holder: format!("bridge {bridge}") })
}

/// The name of its bridge, if something else has it.
fn taken_bridge(uplink: &DesiredUplink, observed: &Observed) -> Option<String> {
    let name = uplink.bridge.as_ref()?.name.as_str();
    let is_taken = match observed.bridges.get(name) {
        Some(bridge) => bridge.uplink.as_ref() != Some(&uplink.name),
        None => observed.bridges.values().flat_map(|bridge| bridge.ports.keys()).any(|port| port.as_str() == name),
    };
    is_taken.then(|| name.to_owned())
}

/// Whether the bridge of an uplink needs no change.
pub(crate) fn uplink_bridge_matches(actual: &ObservedBridge) -> bool {
    actual.has_supported_datapath && actual.settings.mac_learning == MacLearning::Enabled
}

/// Whether a port is that of this NIC, whatever it lets through.
fn nic_port_matches(name: &PortName, actual: &ObservedPort, (nic, owner): (&KernelNic, &PortOwner)) -> bool {
    name.as_str() == nic.device.as_str()
        && actual.owner.as_ref() == Some(owner)
        && actual.backend == Some(PortBackend::Veth { device: nic.device.clone() })
}

/// Whether the port of a NIC stays on this bridge.
pub(super) fn nic_stays(
    desired: &Desired,
    (bridge, actual): (&str, &ObservedBridge),
    (name, port): (&PortName, &ObservedPort),
    UplinkNic { uplink, .. }: &UplinkNic,
) -> bool {
    desired.uplinks.get(uplink).is_some_and(|desired| {
        let is_its_bridge = desired.bridge.as_ref().is_some_and(|desired| desired.name.as_str() == bridge);
        is_its_bridge && actual.uplink.as_ref() == Some(uplink) && is_its_nic(desired, name, port)
    })
}

/// Whether a NIC on no bridge stays.
pub(super) fn unbridged_nic_stays(
    desired: &Desired,
    (name, port): (&PortName, &ObservedPort),
    UplinkNic { uplink, .. }: &UplinkNic,
) -> bool {
    let uplink = desired.uplinks.get(uplink).filter(|desired| desired.bridge.is_none());
    uplink.is_some_and(|desired| is_its_nic(desired, name, port))
}

/// Whether it is the NIC that the uplink has, or may keep.
fn is_its_nic(desired: &DesiredUplink, name: &PortName, port: &ObservedPort) -> bool {
    desired.nic.as_ref().is_none_or(|nic| nic_port_matches(name, port, (nic, &desired.owner(nic))))
}

/// Whether a port that connects a network stays on this bridge. A patch port alone connects
/// nothing, and a sub-interface goes with its NIC; `has_nic`: whether the uplink keeps that.
pub(super) fn patch_stays(
    desired: &Desired,
    observed: &Observed,
    (bridge, name): (&str, &PortName),
    PatchedNetwork { network, .. }: &PatchedNetwork,
    has_nic: bool,
) -> bool {
    desired.patches.get(network).is_some_and(|desired| {
        let is_end = |(port, _): (PatchPort<'_>, _)| port.bridge.as_str() == bridge && port.name == name;
        let is_its = desired.pair.ports().any(is_end) && is_in_place(&desired.pair, observed);
        is_its && (has_nic || desired.pair.uplink_end.is_some())
    })
}

/// Whether a network is connected as it should be.
pub fn is_connected(pair: &PatchPair, observed: &Observed) -> bool {
    is_in_place(pair, observed) && found(pair, observed).all(|(_, port)| port.is_enabled)
}

/// Whether everything that connects a network is there, enabled or not.
fn is_in_place(pair: &PatchPair, observed: &Observed) -> bool {
    let owner = pair.owner();
    let is_as_it_should_be = |((end, tagging), port): ((PatchPort<'_>, Tagging), &ObservedPort)| {
        port.owner.as_ref() == Some(&owner) && port.patch_peer.as_ref() == end.peer && port.tagging == tagging
    };
    found(pair, observed).count() == pair.ports().count() && found(pair, observed).all(is_as_it_should_be)
}

/// The ports that connect a network, as far as they are on their bridges.
fn found<'a>(
    pair: &'a PatchPair,
    observed: &'a Observed,
) -> impl Iterator<Item = ((PatchPort<'a>, Tagging), &'a ObservedPort)> {
    let is_owned = move |bridge: &ObservedBridge, name: &BridgeName| {
        if pair.uplink_end.as_ref().is_some_and(|end| end.bridge == *name) {
            bridge.uplink.as_ref() == Some(&pair.uplink)
        } else {
            pair.ownership == Ownership::Adopted || bridge.owner.as_ref() == Some(&pair.network)
        }
    };
    pair.ports().filter_map(move |(end, tagging)| {
        let bridge = observed.bridges.get(end.bridge.as_str()).filter(|bridge| is_owned(bridge, end.bridge))?;
        Some(((end, tagging), bridge.ports.get(end.name)?))
    })
}

/// The port of an uplink's NIC.
pub(super) fn nic_port<'a>(
    uplink: &DesiredUplink,
    ports: impl Iterator<Item = (&'a PortName, &'a ObservedPort)>,
) -> Option<(&'a PortName, &'a ObservedPort, u32)> {
    let nic = |port: &ObservedPort| match &port.owner.as_ref()?.owner {
        Owner::Nic(nic) if nic.uplink == uplink.name => Some(nic.index),
        _ => None,
    };
    ports.into_iter().find_map(|(name, port)| Some((name, port, nic(port)?)))
}
