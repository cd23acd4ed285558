//! Uplinks in a plan: what stays of them, and what is in the way of one.

use crate::model::desired::Desired;
use crate::model::observed::{Observed, ObservedBridge, ObservedPort};
use crate::model::owner::{Owner, PatchedNetwork, PortOwner, UplinkNic};
use crate::model::port::{PortBackend, PortName};
use crate::model::uplink::{DesiredUplink, KernelNic, PatchPair};
use std::collections::BTreeMap;
use usnet_crds::{MacLearning, Ownership, UplinkName};

/// What prevents an uplink from having its bridge or NIC, and requires operator action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UplinkBlocker {
    /// A bridge or port of the bridge's name is there and is not the uplink's.
    BridgeExists {
        /// Its name.
        bridge: String,
    },
    /// The NIC is a port of another bridge.
    NicTaken {
        /// The NIC.
        nic: PortName,
        /// That bridge.
        bridge: String,
    },
}

/// The uplinks that [`plan`](super::plan()) cannot converge, and why.
pub fn uplink_blockers(desired: &Desired, observed: &Observed) -> BTreeMap<UplinkName, UplinkBlocker> {
    let blocked = desired.uplinks.values().filter_map(|uplink| Some((uplink.name.clone(), blocker(uplink, observed)?)));
    blocked.collect()
}

fn blocker(uplink: &DesiredUplink, observed: &Observed) -> Option<UplinkBlocker> {
    let name = uplink.bridge.as_str();
    let is_taken = match observed.bridges.get(name) {
        Some(bridge) => bridge.uplink.as_ref() != Some(&uplink.name),
        None => observed.bridges.values().flat_map(|bridge| bridge.ports.keys()).any(|port| port.as_str() == name),
    };
    if is_taken {
        return Some(UplinkBlocker::BridgeExists { bridge: name.to_owned() });
    }
    let nic = PortName::from(&uplink.nic.as_ref()?.device);
    let is_of_others = |port: &ObservedPort| !port.owner.as_ref().is_some_and(|owner| uplink.has(owner));
    let (bridge, _) = observed.bridges.iter().find(|(_, bridge)| bridge.ports.get(&nic).is_some_and(is_of_others))?;
    Some(UplinkBlocker::NicTaken { nic, bridge: bridge.clone() })
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
        let is_its_bridge = desired.bridge.as_str() == bridge && actual.uplink.as_ref() == Some(uplink);
        let is_its_nic =
            desired.nic.as_ref().is_none_or(|nic| nic_port_matches(name, port, (nic, &desired.owner(nic))));
        is_its_bridge && is_its_nic
    })
}

/// Whether a patch port stays on this bridge: alone it connects nothing.
pub(super) fn patch_stays(
    desired: &Desired,
    observed: &Observed,
    (bridge, name): (&str, &PortName),
    PatchedNetwork { network, .. }: &PatchedNetwork,
) -> bool {
    desired.patches.get(network).is_some_and(|desired| {
        let mut ends = desired.pair.ports().into_iter();
        let is_end = ends.any(|(port, _)| port.bridge.as_str() == bridge && port.name == name);
        is_end && is_connected(&desired.pair, observed)
    })
}

/// Whether both patch ports of a network are there as they should be.
pub fn is_connected(pair: &PatchPair, observed: &Observed) -> bool {
    let owner = pair.owner();
    let is_owned = |bridge: &ObservedBridge, name: &str| {
        if name == pair.uplink_bridge.as_str() {
            bridge.uplink.as_ref() == Some(&pair.uplink)
        } else {
            pair.ownership == Ownership::Adopted || bridge.owner.as_ref() == Some(&pair.network)
        }
    };
    pair.ports().iter().all(|(end, tagging)| {
        let bridge = observed.bridges.get(end.bridge.as_str());
        let bridge = bridge.filter(|bridge| is_owned(bridge, end.bridge.as_str()));
        bridge.and_then(|bridge| bridge.ports.get(end.name)).is_some_and(|port| {
            port.owner.as_ref() == Some(&owner)
                && port.patch_peer.as_ref() == Some(end.peer)
                && port.tagging == *tagging
        })
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
