//! Uplinks: a NIC of the node on a bridge of its own, and the networks that are connected to it.

use crate::model::observed::Tagging;
use crate::model::owner::{Owner, PatchedNetwork, PortOwner};
use crate::model::port::{DeviceName, PortName};
use std::collections::BTreeSet;
use std::fmt;
use usnet_crds::{BridgeName, NetworkName, NodeNetwork, Ownership, UplinkName, Vlan, VlanTag};

/// An uplink that at least one network of this node is connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredUplink {
    /// Its name.
    pub name: UplinkName,
    /// The bridge that the NIC is on.
    pub bridge: BridgeName,
    /// The NIC to join; without one, the NIC that is joined stays, and none is added.
    pub nic: Option<KernelNic>,
    /// The VLANs of its networks.
    pub vlans: UplinkVlans,
}

/// A NIC of the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelNic {
    /// Its name.
    pub device: DeviceName,
    /// Its index. A NIC that is deleted and created again has another one.
    pub index: u32,
}

/// The VLANs of the networks of an uplink: at least one, because a trunk without any is one of all
/// VLANs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UplinkVlans {
    /// Whether one of the networks has no VLAN.
    is_untagged: bool,
    tags: BTreeSet<VlanTag>,
}

/// How a network is connected to an uplink: a pair of patch ports between both bridges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchPair {
    /// The network.
    pub network: NetworkName,
    /// Its bridge.
    pub bridge: BridgeName,
    /// Whether usnet owns that bridge or adopted it.
    pub ownership: Ownership,
    /// The port on its bridge.
    pub network_end: PortName,
    /// The uplink.
    pub uplink: UplinkName,
    /// The bridge of the uplink.
    pub uplink_bridge: BridgeName,
    /// The port on the uplink's bridge, which has the VLAN.
    pub uplink_end: PortName,
    /// The VLAN; none: untagged frames.
    pub vlan: Option<VlanTag>,
}

/// One of the two ports by which a network is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PatchPort<'a> {
    pub(crate) bridge: &'a BridgeName,
    pub(crate) name: &'a PortName,
    pub(crate) peer: &'a PortName,
}

impl UplinkVlans {
    /// The VLANs of these networks; none without a network.
    pub fn of(vlans: impl IntoIterator<Item = Option<VlanTag>>) -> Option<Self> {
        let mut all = Self { is_untagged: false, tags: BTreeSet::new() };
        for vlan in vlans {
            match vlan {
                Some(tag) => drop(all.tags.insert(tag)),
                None => all.is_untagged = true,
            }
        }
        (all.is_untagged || !all.tags.is_empty()).then_some(all)
    }

    /// The tagging of the NIC's port.
    pub fn tagging(&self) -> Tagging {
        let trunks = self.tags.clone();
        if self.is_untagged { Tagging::UntaggedAndTrunk(trunks) } else { Tagging::Vlan(Vlan::Trunk { trunks }) }
    }
}

impl fmt::Display for UplinkVlans {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tags: Vec<_> = self.tags.iter().map(ToString::to_string).collect();
        match (self.is_untagged, tags.is_empty()) {
            (true, true) => formatter.write_str("no VLAN"),
            (true, false) => write!(formatter, "no VLAN and VLANs {}", tags.join(", ")),
            (false, _) => write!(formatter, "VLANs {}", tags.join(", ")),
        }
    }
}

impl DesiredUplink {
    /// The owner of the port of a NIC.
    pub fn owner(&self, nic: &KernelNic) -> PortOwner {
        PortOwner::of_nic(&self.name, nic.index)
    }

    /// Whether a port with this owner is that of its NIC.
    pub(crate) fn has(&self, owner: &PortOwner) -> bool {
        matches!(&owner.owner, Owner::Nic(nic) if nic.uplink == self.name)
    }
}

impl PatchPair {
    /// The pair of a network; none without an uplink.
    pub fn of(network: &NodeNetwork) -> Option<Self> {
        let uplink = network.uplink.as_ref()?;
        Some(Self {
            network: network.name.clone(),
            bridge: network.bridge.name.clone(),
            ownership: network.bridge.ownership,
            network_end: PortName::of_network_end(&network.name),
            uplink: uplink.name.clone(),
            uplink_bridge: BridgeName::of_uplink(&uplink.name),
            uplink_end: PortName::of_uplink_end(&network.name),
            vlan: uplink.vlan,
        })
    }

    /// The owner of both ports.
    pub fn owner(&self) -> PortOwner {
        PortOwner::of_patch(&PatchedNetwork { uplink: self.uplink.clone(), network: self.network.clone() })
    }

    /// The tagging of the port on the uplink's bridge.
    pub(crate) fn tagging(&self) -> Tagging {
        self.vlan.map_or(Tagging::OnlyUntagged, |tag| Tagging::Vlan(Vlan::Access { tag }))
    }

    /// Both ports, each with its tagging: that of the network first.
    pub(crate) fn ports(&self) -> [(PatchPort<'_>, Tagging); 2] {
        let network = PatchPort { bridge: &self.bridge, name: &self.network_end, peer: &self.uplink_end };
        let uplink = PatchPort { bridge: &self.uplink_bridge, name: &self.uplink_end, peer: &self.network_end };
        [(network, Tagging::Untagged), (uplink, self.tagging())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(number: i64) -> VlanTag {
        VlanTag::try_from(number).unwrap()
    }

    #[test]
    fn there_is_no_trunk_without_vlans() {
        assert_eq!(UplinkVlans::of([]), None);
        let taggings = [
            (vec![Some(tag(7))], Tagging::Vlan(Vlan::Trunk { trunks: [tag(7)].into() }), "VLANs 7"),
            (vec![None], Tagging::UntaggedAndTrunk([].into()), "no VLAN"),
            (vec![Some(tag(8)), None], Tagging::UntaggedAndTrunk([tag(8)].into()), "no VLAN and VLANs 8"),
        ];
        for (vlans, tagging, text) in taggings {
            let vlans = UplinkVlans::of(vlans).unwrap();
            assert_eq!((vlans.tagging(), vlans.to_string().as_str()), (tagging, text));
        }
    }
}
