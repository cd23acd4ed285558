//! The places of NICs and connections of networks in what is observed, and how they are tagged.
//! Pure.

use super::sub_interface::{Frames, SubInterface};
use crate::engine::vpp::snapshot::{Interface, VppSnapshot};
use crate::model::owner::Owner;
use crate::model::port::DeviceName;
use crate::model::tagging::Tagging;
use std::collections::BTreeMap;
use usnet_crds::Vlan;

/// The bridge domain that an interface is a port of. For untagged frames that is the interface of
/// the NIC, for which a sub-interface stands.
pub(in crate::engine::vpp) fn domain_of(snapshot: &VppSnapshot, index: u32, interface: &Interface) -> Option<u32> {
    match (&interface.owner, &interface.sub) {
        (Some(Owner::Nic(_)), _) if stands_for(snapshot, index).is_some() => None,
        (Some(Owner::Patch(_)), Some(SubInterface { parent, frames: Some(Frames::OtherVlans), .. })) => {
            snapshot.interfaces.get(parent)?.domain
        }
        _ => interface.domain,
    }
}

/// The sub-interface of usnet that stands for the untagged frames of a NIC.
fn stands_for(snapshot: &VppSnapshot, nic: u32) -> Option<&Interface> {
    let mut subs = snapshot.interfaces.values().filter(|interface| interface.owner.is_some());
    subs.find(|interface| {
        let sub = interface.sub.as_ref().filter(|sub| sub.parent == nic);
        sub.is_some_and(|sub| sub.frames == Some(Frames::OtherVlans))
    })
}

/// How the frames of a port are tagged.
pub(in crate::engine::vpp) fn tagging_of(snapshot: &VppSnapshot, interface: &Interface) -> Tagging {
    let Some(sub) = &interface.sub else { return interface.tagging.clone() };
    match sub.frames {
        Some(Frames::OfVlan(tag)) if sub.pops_tag && interface.is_filtered != Some(true) => {
            Tagging::Vlan(Vlan::Access { tag })
        }
        Some(Frames::OtherVlans) => {
            let takes_none = interface.domain.is_none() && !interface.is_enabled;
            let nic = snapshot.interfaces.get(&sub.parent);
            let is_right = nic.is_some_and(|nic| nic.is_filtered != Some(false) && nic.tagging == Tagging::Untagged);
            if takes_none && is_right { Tagging::OnlyUntagged } else { Tagging::Other }
        }
        _ => Tagging::Other,
    }
}

/// Whether a port forwards. The sub-interface that stands for untagged frames never does.
pub(in crate::engine::vpp) fn is_enabled(snapshot: &VppSnapshot, interface: &Interface) -> bool {
    match &interface.sub {
        Some(SubInterface { parent, frames: Some(Frames::OtherVlans), .. }) => {
            snapshot.interfaces.get(parent).is_some_and(|nic| nic.is_enabled)
        }
        _ => interface.is_enabled,
    }
}

/// The devices that interfaces of others are on.
pub(in crate::engine::vpp) fn taken_devices(snapshot: &VppSnapshot) -> BTreeMap<DeviceName, String> {
    let taken = snapshot.interfaces.values().filter(|interface| interface.owner.is_none() && !interface.may_be_nic());
    taken.filter_map(|interface| Some((interface.device()?, interface.name.clone()))).collect()
}
