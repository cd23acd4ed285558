//! Overlays that an engine encapsulates itself: the address of this node on an uplink, and a tunnel
//! for each network and peer between such addresses.

use crate::model::bridge::BridgeOwner;
use crate::model::owner::NetworkTunnel;
use crate::model::port::{DesiredPort, PortBridge, PortPolicy, TunnelEnds};
use crate::model::tagging::Tagging;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::{
    BridgeName, Encapsulation, InterfaceAddress, IpFamily, MacAddress, Mtu, NetworkName, NodeNetwork, Ownership,
    UdpPort, UplinkName, VlanTag, Vni,
};

/// The address that an engine has on the NIC of an uplink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UplinkAddress {
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
    pub address: InterfaceAddress,
    /// The tagging of the port that has it.
    pub tagging: Tagging,
    /// The MAC address that was set for it.
    pub mac: Option<MacAddress>,
}

/// The tunnels that a network should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredTunnels {
    pub network: NetworkName,
    pub bridge: BridgeName,
    pub mtu: Mtu,
    /// The uplink that they run over.
    pub uplink: UplinkName,
    /// The VLAN of their packets on it.
    pub vlan: Option<VlanTag>,
    /// The id of the VXLAN network.
    pub vni: Vni,
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
        Tagging::of_uplink_vlan(self.vlan)
    }

    /// Whether the engine has it as it should.
    pub fn matches(&self, observed: &ObservedAddress) -> bool {
        self.address == observed.address
            && self.tagging() == observed.tagging
            && self.mac.is_none_or(|mac| observed.mac == Some(mac))
    }
}

impl DesiredTunnels {
    /// The tunnels of a network; `None` if its engine does not encapsulate.
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

    /// The port of each tunnel. A network may have a thousand peers, so that the ports are made
    /// when they are looked at.
    pub fn ports(&self) -> impl Iterator<Item = DesiredPort> {
        self.peers.iter().map(|peer| self.port_to(*peer))
    }

    /// The tunnel to a peer.
    pub fn port_to(&self, peer: IpAddr) -> DesiredPort {
        let tunnel = NetworkTunnel { network: self.network.clone(), peer };
        let owner = BridgeOwner::Network(self.network.clone());
        let bridge = PortBridge { name: self.bridge.clone(), owner, ownership: Ownership::Managed };
        let ends = TunnelEnds { vni: self.vni, port: self.port, local: self.local.ip(), remote: peer };
        DesiredPort { policy: self.policy, ..DesiredPort::of_tunnel(&tunnel, bridge, &self.uplink, ends) }
    }

    /// What VXLAN adds to a frame, in bytes.
    pub fn overhead(&self) -> u32 {
        IpFamily::of(self.local.ip()).vxlan_overhead().into()
    }
}
