//! Uplinks: a NIC of the node, and the networks that are connected to it. With Open vSwitch the NIC
//! is on a bridge of its own, to which each network is patched; with VPP each network has a
//! sub-interface of the NIC.

use crate::model::owner::{Owner, PatchedNetwork, PortOwner};
use crate::model::port::{DeviceName, PortName};
use crate::model::tagging::Tagging;
use crate::model::underlay::UplinkAddress;
use std::collections::BTreeSet;
use std::fmt;
use usnet_crds::{BridgeName, EngineKind, NetworkName, NodeNetwork, Ownership, UplinkName, Vlan, VlanTag};

/// An uplink that at least one network of this node is connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredUplink {
    /// Its name.
    pub name: UplinkName,
    /// The NIC to join; without one, the NIC that is joined stays, and none is added.
    pub nic: Option<KernelNic>,
    /// The bridge that the NIC is on; VPP has none.
    pub bridge: Option<UplinkBridge>,
    /// The address of this node on the NIC, for overlays that the engine encapsulates.
    pub address: Option<UplinkAddress>,
}

/// The bridge of an uplink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UplinkBridge {
    /// Its name.
    pub name: BridgeName,
    /// What the port of the NIC lets through: the VLANs of the networks.
    pub vlans: UplinkVlans,
}

/// A NIC of the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelNic {
    /// Its name.
    pub device: DeviceName,
    /// Its index. A NIC that is deleted and created again has another one.
    pub index: u32,
    /// Its MAC address.
    pub mac: [u8; 6],
}

/// The VLANs of the networks of an uplink: at least one, because a trunk without any is one of all
/// VLANs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UplinkVlans {
    /// Whether one of the networks has no VLAN.
    is_untagged: bool,
    tags: BTreeSet<VlanTag>,
}

/// How a network is connected to an uplink: by a pair of patch ports between both bridges, or by a
/// port on its own that is a sub-interface of the NIC.
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
    /// The other port of a pair of patch ports.
    pub uplink_end: Option<UplinkEnd>,
    /// The VLAN; none: untagged frames.
    pub vlan: Option<VlanTag>,
}

/// The patch port on the bridge of an uplink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UplinkEnd {
    /// That bridge.
    pub bridge: BridgeName,
    /// The port, which has the VLAN.
    pub port: PortName,
}

/// One of the ports by which a network is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PatchPort<'a> {
    pub(crate) bridge: &'a BridgeName,
    pub(crate) name: &'a PortName,
    /// The other port of a pair.
    pub(crate) peer: Option<&'a PortName>,
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
    /// An uplink of this engine with networks in these VLANs, or with tunnels; none without any.
    pub fn of(
        engine: EngineKind,
        name: &UplinkName,
        nic: Option<KernelNic>,
        vlans: impl IntoIterator<Item = Option<VlanTag>>,
    ) -> Option<Self> {
        let vlans = UplinkVlans::of(vlans)?;
        let bridge = match engine {
            EngineKind::OpenVswitch => Some(UplinkBridge { name: BridgeName::of_uplink(name), vlans }),
            EngineKind::Vpp => None,
        };
        Some(Self { name: name.clone(), nic, bridge, address: None })
    }

    /// With this address on the NIC.
    #[must_use]
    pub fn with_address(self, address: Option<UplinkAddress>) -> Self {
        Self { address, ..self }
    }

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
        let uplink_end = match network.engine {
            EngineKind::OpenVswitch => {
                let bridge = BridgeName::of_uplink(&uplink.name);
                Some(UplinkEnd { bridge, port: PortName::of_uplink_end(&network.name) })
            }
            EngineKind::Vpp => None,
        };
        Some(Self {
            network: network.name.clone(),
            bridge: network.bridge.name.clone(),
            ownership: network.bridge.ownership,
            network_end: PortName::of_network_end(&network.name),
            uplink: uplink.name.clone(),
            uplink_end,
            vlan: uplink.vlan,
        })
    }

    /// The owner of both ports.
    pub fn owner(&self) -> PortOwner {
        PortOwner::of_patch(&PatchedNetwork { uplink: self.uplink.clone(), network: self.network.clone() })
    }

    /// The tagging of the port that has the VLAN.
    pub(crate) fn tagging(&self) -> Tagging {
        self.vlan.map_or(Tagging::OnlyUntagged, |tag| Tagging::Vlan(Vlan::Access { tag }))
    }

    /// Its ports, each with its tagging: that on the bridge of the network first.
    pub(crate) fn ports(&self) -> impl Iterator<Item = (PatchPort<'_>, Tagging)> {
        let Self { bridge, network_end, uplink_end, .. } = self;
        let peer = uplink_end.as_ref().map(|end| &end.port);
        let of_network = PatchPort { bridge, name: network_end, peer };
        let tagging = if peer.is_some() { Tagging::Untagged } else { self.tagging() };
        let of_uplink = uplink_end.iter().map(|UplinkEnd { bridge, port }| {
            (PatchPort { bridge, name: port, peer: Some(network_end) }, self.tagging())
        });
        [(of_network, tagging)].into_iter().chain(of_uplink)
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
