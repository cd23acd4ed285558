//! The addresses of this node on NICs of uplinks. Pure.

use crate::engine::vpp::ports::Frames;
use crate::engine::vpp::snapshot::{Interface, VppSnapshot};
use crate::model::tagging::Tagging;
use crate::model::underlay::ObservedAddress;
use std::collections::BTreeMap;
use usnet_crds::{InterfaceAddress, UplinkName, Vlan};

/// The address that each uplink has. One that is where VPP does not receive packets to it, or
/// beside another one, is not tagged as an address of usnet is.
pub(super) fn addresses(snapshot: &VppSnapshot) -> BTreeMap<UplinkName, ObservedAddress> {
    let mut all = BTreeMap::new();
    for interface in snapshot.interfaces.values() {
        let uplink = interface.owner.as_ref().and_then(|owner| owner.uplink()).or(interface.underlay_of.as_ref());
        let Some(uplink) = uplink else { continue };
        for (address, prefix) in &interface.addresses {
            let Some(address) = InterfaceAddress::new(*address, *prefix) else { continue };
            let found = ObservedAddress { address, tagging: tagging(interface), mac: None };
            let also = |first: &mut ObservedAddress| first.tagging = Tagging::Other;
            all.entry(uplink.clone()).and_modify(also).or_insert(found);
        }
    }
    all
}

fn tagging(interface: &Interface) -> Tagging {
    match (interface.frames(), interface.domain.is_none() && interface.is_enabled) {
        (Some(Frames::OfVlan(tag)), true) => Tagging::Vlan(Vlan::Access { tag }),
        (None, true) => Tagging::OnlyUntagged,
        _ => Tagging::Other,
    }
}
