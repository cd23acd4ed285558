//! The interfaces on NICs of uplinks and their sub-interfaces, in a snapshot: which bridge domains
//! they are ports of, and how they are tagged. Pure.

use super::interface::Interface;
use super::vpp_snapshot::VppSnapshot;
use crate::engine::vpp::ports::{Frames, SubInterface};
use crate::model::owner::Owner;
use crate::model::port::DeviceName;
use crate::model::tagging::Tagging;
use std::collections::BTreeMap;
use usnet_crds::{UplinkName, Vlan};

impl VppSnapshot {
    /// The interface on the NIC of an uplink.
    pub(in crate::engine::vpp) fn nic_of(&self, uplink: &UplinkName) -> Option<(u32, &Interface)> {
        let is_its = |owner: &Owner| matches!(owner, Owner::Nic(nic) if nic.uplink == *uplink);
        let mut nics = self.interfaces.iter().filter(|(_, found)| found.owner.as_ref().is_some_and(is_its));
        nics.next().map(|(index, found)| (*index, found))
    }

    /// The sub-interfaces of an interface, with their indexes.
    pub(in crate::engine::vpp) fn subs_of(&self, parent: u32) -> impl Iterator<Item = (u32, &Interface)> {
        let is_of_it = move |interface: &Interface| interface.sub.as_ref().is_some_and(|sub| sub.parent == parent);
        self.interfaces.iter().filter(move |(_, found)| is_of_it(found)).map(|(index, found)| (*index, found))
    }

    /// The devices that interfaces of others are on.
    pub(in crate::engine::vpp) fn taken_devices(&self) -> BTreeMap<DeviceName, String> {
        let taken = self.interfaces.values().filter(|interface| interface.owner.is_none() && !interface.may_be_nic());
        taken.filter_map(|interface| Some((interface.device()?, interface.name.clone()))).collect()
    }

    /// The bridge domain that an interface is a port of. For untagged frames that is the interface
    /// of the NIC, for which a sub-interface stands.
    pub(in crate::engine::vpp) fn domain_of(&self, index: u32, interface: &Interface) -> Option<u32> {
        match (&interface.owner, &interface.sub) {
            (Some(Owner::Nic(_)), _) if self.stands_for(index).is_some() => None,
            (Some(Owner::Patch(_)), Some(SubInterface { parent, frames: Some(Frames::OtherVlans), .. })) => {
                self.interfaces.get(parent)?.domain
            }
            _ => interface.domain,
        }
    }

    /// The sub-interface of usnet that stands for the untagged frames of a NIC.
    fn stands_for(&self, nic: u32) -> Option<&Interface> {
        let mut subs = self.interfaces.values().filter(|interface| interface.owner.is_some());
        subs.find(|interface| {
            let sub = interface.sub.as_ref().filter(|sub| sub.parent == nic);
            sub.is_some_and(|sub| sub.frames == Some(Frames::OtherVlans))
        })
    }

    /// How the frames of a port are tagged.
    pub(in crate::engine::vpp) fn tagging_of(&self, interface: &Interface) -> Tagging {
        let Some(sub) = &interface.sub else { return interface.tagging.clone() };
        match sub.frames {
            Some(Frames::OfVlan(tag)) if sub.pops_tag && interface.is_filtered != Some(true) => {
                Tagging::Vlan(Vlan::Access { tag })
            }
            Some(Frames::OtherVlans) => {
                let takes_none = interface.domain.is_none() && !interface.is_enabled;
                let nic = self.interfaces.get(&sub.parent);
                let is_right =
                    nic.is_some_and(|nic| nic.is_filtered != Some(false) && nic.tagging == Tagging::Untagged);
                if takes_none && is_right { Tagging::OnlyUntagged } else { Tagging::Other }
            }
            _ => Tagging::Other,
        }
    }

    /// Whether a port forwards. The sub-interface that stands for untagged frames never does.
    pub(in crate::engine::vpp) fn is_enabled(&self, interface: &Interface) -> bool {
        match &interface.sub {
            Some(SubInterface { parent, frames: Some(Frames::OtherVlans), .. }) => {
                self.interfaces.get(parent).is_some_and(|nic| nic.is_enabled)
            }
            _ => interface.is_enabled,
        }
    }
}
