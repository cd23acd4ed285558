//! The devices of an engine that have to be isolated from the node although usnet did not create
//! them. Pure.

use super::prepared::UplinkNetworks;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{EngineKind, UplinkName};
use usnet_dataplane::bridge::BridgeOwner;
use usnet_dataplane::isolation::NicGuard;
use usnet_dataplane::links::EngineDevices;
use usnet_dataplane::links::nics::ResolvedUplink;
use usnet_dataplane::observed::{Observed, ObservedBridge};

/// The VLANs that networks have on each uplink; a network without one adds none.
pub(super) fn vlans(networks: &UplinkNetworks) -> BTreeMap<UplinkName, BTreeSet<u16>> {
    let mut vlans: BTreeMap<UplinkName, BTreeSet<u16>> = BTreeMap::new();
    for (uplink, vlan) in networks.vlans() {
        vlans.entry(uplink.clone()).or_default().extend(vlan.map(|vlan| vlan.get()));
    }
    vlans
}

/// The uplinks whose bridge has an address of the node, for overlays of the engine. The node has to
/// answer there.
pub(super) fn underlays(networks: &UplinkNetworks) -> BTreeSet<UplinkName> {
    networks.tunnels.iter().map(|tunnels| tunnels.uplink.clone()).collect()
}

/// The NICs, and the bridges of usnet: each bridge of Open vSwitch is also a device of the node.
pub(super) fn devices(
    kind: EngineKind,
    nics: &BTreeMap<u32, NicGuard>,
    underlays: &BTreeSet<UplinkName>,
    engine: &Observed,
) -> EngineDevices {
    let is_apart = |bridge: &ObservedBridge| match &bridge.owner {
        Some(BridgeOwner::Uplink(uplink)) => !underlays.contains(uplink),
        Some(BridgeOwner::Network(_)) => true,
        None => false,
    };
    let bridges = engine.bridges.iter().filter(|(_, bridge)| kind == EngineKind::OpenVswitch && is_apart(bridge));
    EngineDevices { nics: nics.clone(), bridges: bridges.map(|(name, _)| name.clone()).collect() }
}

/// Keeps NICs from being joined if the devices could not be isolated.
pub(super) fn refuse(resolved: &mut BTreeMap<UplinkName, ResolvedUplink>, isolated: &Result<(), String>) {
    if let Err(why) = isolated {
        resolved.values_mut().for_each(|resolved| resolved.refuse_unless_isolated(why));
    }
}
