//! Overlays that an engine encapsulates itself: the address of this node on an uplink, and a tunnel
//! for each network and peer between such addresses.

use crate::model::owner::{NetworkTunnel, PortOwner};
use crate::model::port::PortName;
use crate::model::port::PortPolicy;
use crate::model::tagging::Tagging;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::{
    BridgeName, Encapsulation, InterfaceAddress, IpFamily, MacAddress, Mtu, NetworkName, NodeNetwork, UdpPort,
    UplinkName, Vlan, VlanTag, Vni,
};

/// The address that an engine has on the NIC of an uplink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UplinkAddress {
    /// The address.
    pub address: InterfaceAddress,
    /// The VLAN of its packets; none means untagged.
    pub vlan: Option<VlanTag>,
    /// The MAC address that has it, that of the NIC; none if the NIC is not there, and what the
    /// engine has stays.
    pub mac: Option<MacAddress>,
}

/// The address that an engine has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedAddress {
    /// The address.
    pub address: InterfaceAddress,
    /// The tagging of the port that has it.
    pub tagging: Tagging,
    /// The MAC address that was set for it.
    pub mac: Option<MacAddress>,
}

/// One end of a tunnel, and the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TunnelEnds {
    /// The id of the VXLAN network.
    pub vni: Vni,
    /// The UDP port.
    pub port: UdpPort,
    /// The address of this node.
    pub local: IpAddr,
    /// That of the peer.
    pub remote: IpAddr,
}

/// A tunnel to one peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tunnel {
    /// Its name in the engine.
    pub name: PortName,
    /// The network.
    pub network: NetworkName,
    /// Its bridge.
    pub bridge: BridgeName,
    /// The uplink that it runs over.
    pub uplink: UplinkName,
    /// From where to where.
    pub ends: TunnelEnds,
}

/// The tunnels that a network should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredTunnels {
    /// The network.
    pub network: NetworkName,
    /// Its bridge.
    pub bridge: BridgeName,
    /// Its MTU.
    pub mtu: Mtu,
    /// The uplink that they run over.
    pub uplink: UplinkName,
    /// The VLAN of their packets on it.
    pub vlan: Option<VlanTag>,
    /// The id of the VXLAN network.
    pub vni: Vni,
    /// The UDP port.
    pub port: UdpPort,
    /// The address of this node.
    pub local: InterfaceAddress,
    /// The addresses of the other nodes.
    pub peers: Arc<BTreeSet<IpAddr>>,
    /// Whether missing tunnels are created. What hinders a network later does not disconnect it.
    pub policy: PortPolicy,
}

impl UplinkAddress {
    /// The tagging of the port that has it.
    pub fn tagging(&self) -> Tagging {
        self.vlan.map_or(Tagging::OnlyUntagged, |tag| Tagging::Vlan(Vlan::Access { tag }))
    }

    /// Whether the engine has it as it should.
    pub fn matches(&self, observed: &ObservedAddress) -> bool {
        self.address == observed.address
            && self.tagging() == observed.tagging
            && self.mac.is_none_or(|mac| observed.mac == Some(mac))
    }
}

impl DesiredTunnels {
    /// Those of a network; none if its engine does not encapsulate.
    pub fn of(network: &NodeNetwork) -> Option<Self> {
        let overlay = network.overlay.as_ref().filter(|overlay| overlay.encapsulation == Encapsulation::Engine)?;
        let underlay = overlay.underlay.as_ref()?;
        Some(Self {
            network: network.name.clone(),
            bridge: network.bridge.name.clone(),
            mtu: network.bridge.mtu,
            uplink: underlay.uplink.clone(),
            vlan: underlay.vlan,
            vni: overlay.vni,
            port: overlay.port,
            local: InterfaceAddress::new(overlay.local, underlay.prefix_length)?,
            peers: Arc::clone(&overlay.peers),
            policy: PortPolicy::Ensure,
        })
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Tunnel> {
        self.peers.iter().map(|peer| self.to(*peer))
    }

    /// The tunnel to a peer.
    pub fn to(&self, peer: IpAddr) -> Tunnel {
        Tunnel {
            name: PortName::of_tunnel(&NetworkTunnel { network: self.network.clone(), peer }),
            network: self.network.clone(),
            bridge: self.bridge.clone(),
            uplink: self.uplink.clone(),
            ends: TunnelEnds { vni: self.vni, port: self.port, local: self.local.ip(), remote: peer },
        }
    }

    /// What VXLAN adds to a frame, in bytes.
    pub fn overhead(&self) -> u32 {
        IpFamily::of(self.local.ip()).vxlan_overhead().into()
    }
}

impl Tunnel {
    /// Its owner.
    pub fn owner(&self) -> PortOwner {
        PortOwner::of_tunnel(&NetworkTunnel { network: self.network.clone(), peer: self.ends.remote })
    }
}
