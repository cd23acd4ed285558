//! What a node has of overlays that VPP encapsulates.

use super::super::uplinks::{MAC, NIC};
use crate::values::{Values, tag};
use crate::vpp::switch::VppSwitch;
use std::collections::BTreeSet;
use std::net::IpAddr;
use usnet_crds::{Encapsulation, EngineKind, InterfaceAddress, NodeNetwork, NodeOverlay, NodeUnderlay, UdpPort, Vni};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::port::DeviceName;
use usnet_dataplane::underlay::{DesiredTunnels, UplinkAddress};
use usnet_dataplane::uplink::{DesiredNic, DesiredUplink};

/// The node's address, and those of two others.
pub(super) const LOCAL: &str = "192.168.50.2/24";
pub(in super::super) const PEERS: [&str; 2] = ["192.168.50.3", "192.168.50.4"];
pub(in super::super) const VNI: i64 = 7001;

/// What a node has.
#[derive(Clone)]
pub(in super::super) struct Overlays<'a> {
    /// The index of the NIC.
    pub(in super::super) nic: u32,
    pub(in super::super) vlan: Option<i64>,
    pub(in super::super) local: &'a str,
    /// Their names, VNIs and peers.
    pub(in super::super) networks: Vec<(&'a str, i64, Vec<&'a str>)>,
}

impl<'a> Overlays<'a> {
    /// One network.
    pub(in super::super) fn blue(nic: u32, vlan: Option<i64>) -> Self {
        Self { nic, vlan, local: LOCAL, networks: vec![("blue", VNI, PEERS.to_vec())] }
    }

    pub(super) fn address(&self) -> InterfaceAddress {
        self.local.parse().expect("an address")
    }

    pub(super) fn network(&self, switch: &VppSwitch, (name, vni, peers): &(&str, i64, Vec<&str>)) -> NodeNetwork {
        let address = self.address();
        let peers: BTreeSet<IpAddr> = peers.iter().map(|peer| peer.parse().expect("an address")).collect();
        let underlay = NodeUnderlay {
            uplink: "fab".parse().expect("a name"),
            vlan: self.vlan.map(tag),
            prefix_length: address.prefix(),
        };
        let overlay = NodeOverlay {
            vni: Vni::try_from(*vni).expect("a VNI"),
            port: UdpPort::default(),
            encapsulation: Encapsulation::Engine,
            underlay: Some(underlay),
            local: address.ip(),
            multicast_group: None,
            peers: peers.into(),
        };
        NodeNetwork { overlay: Some(overlay), ..switch.network(name) }
    }

    pub(in super::super) fn desired(&self, switch: &VppSwitch) -> Desired {
        let networks: Vec<_> = self.networks.iter().map(|network| self.network(switch, network)).collect();
        let tunnels: Vec<_> = networks.iter().filter_map(DesiredTunnels::of).collect();
        let nic = Some(DesiredNic::kernel(&DeviceName::observed(NIC), self.nic, MAC));
        let vlan = self.vlan.map(tag);
        let uplink = DesiredUplink::of(EngineKind::Vpp, &"fab".parse().expect("a name"), nic, [vlan]);
        let address = UplinkAddress { address: self.address(), vlan, mac: None };
        let uplink = uplink.map(|uplink| uplink.with_address(Some(address)));
        Desired::new(networks, []).with_uplinks(uplink).with_tunnels(tunnels)
    }
}
