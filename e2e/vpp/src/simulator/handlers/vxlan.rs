//! VXLAN tunnels. No frames pass through them.

use crate::simulator::handlers::dispatch::{Failure, Handle, List};
use crate::simulator::model::device::{Device, Tunnel};
use crate::simulator::model::interface::Interface;
use crate::simulator::model::state::State;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    ANY_INSTANCE, DECAP_L2_INPUT, NO_INTERFACE, VxlanAddDelTunnelV3, VxlanAddDelTunnelV3Reply, VxlanTunnelV2Details,
    VxlanTunnelV2Dump,
};

/// The port of a tunnel if the client gives none.
const UDP_PORT: u16 = 4789;
/// The graph node that forwards in bridge domains.
const L2_INPUT: u32 = 1;
const NODES: u32 = 2;

impl Handle for VxlanAddDelTunnelV3 {
    fn handle(&self, state: &mut State) -> Result<VxlanAddDelTunnelV3Reply, Failure> {
        let done = if self.is_add { state.add_tunnel(self) } else { state.delete_tunnel(self) };
        let (retval, sw_if_index) = match done {
            Ok(sw_if_index) => (0, sw_if_index),
            Err(code) => (code.number(), NO_INTERFACE),
        };
        Ok(VxlanAddDelTunnelV3Reply { retval, sw_if_index })
    }
}

impl State {
    fn add_tunnel(&mut self, message: &VxlanAddDelTunnelV3) -> Result<u32, ReturnCode> {
        let wanted = self.requested(message)?;
        if self.tunnel(&wanted).is_some() {
            return Err(ReturnCode::TunnelExist);
        }
        if wanted.decap_next_index >= NODES {
            return Err(ReturnCode::InvalidDecapNext);
        }
        let slot = self.tunnel_slots.insert(());
        let instance = if message.instance == ANY_INSTANCE { slot } else { message.instance };
        let is_used = self.tunnels().any(|(_, other)| other.instance == instance);
        if is_used {
            self.tunnel_slots.remove(slot);
            return Err(ReturnCode::InstanceInUse);
        }
        let tunnel = Tunnel { instance, slot, ..wanted };
        let mut interface = Interface::new(format!("vxlan_tunnel{instance}"), Device::Tunnel(tunnel));
        interface.admin_up = true;
        if interface.is_ethernet() {
            interface.address = self.new_address();
        }
        Ok(self.add_interface(interface))
    }

    fn delete_tunnel(&mut self, message: &VxlanAddDelTunnelV3) -> Result<u32, ReturnCode> {
        let wanted = self.requested(message)?;
        let (sw_if_index, slot) = self.tunnel(&wanted).ok_or(ReturnCode::NoSuchEntry)?;
        self.remove_interface(sw_if_index);
        self.tunnel_slots.remove(slot);
        Ok(sw_if_index)
    }

    /// Builds the tunnel of a message, with VPP's checks in VPP's order.
    fn requested(&self, message: &VxlanAddDelTunnelV3) -> Result<Tunnel, ReturnCode> {
        let ends = (message.src_address.ip(), message.dst_address.ip());
        let (Some(source), Some(destination)) = ends else { return Err(ReturnCode::InvalidValue) };
        let table = (source.is_ipv6(), message.encap_vrf_id);
        if !self.routing.tables.contains_key(&table) {
            return Err(ReturnCode::NoSuchFib);
        }
        if source.is_ipv6() != destination.is_ipv6() {
            return Err(ReturnCode::InvalidValue);
        }
        if source == destination {
            return Err(ReturnCode::SameSrcDst);
        }
        if destination.is_multicast() && self.interfaces.get(message.mcast_sw_if_index).is_none() {
            return Err(ReturnCode::InvalidSwIfIndex);
        }
        let port = |port: u16| if port == 0 { UDP_PORT } else { port };
        let next = message.decap_next_index;
        Ok(Tunnel {
            instance: 0,
            slot: 0,
            source,
            destination,
            ports: (port(message.src_port), port(message.dst_port)),
            table,
            multicast_interface: message.mcast_sw_if_index,
            decap_next_index: if next == DECAP_L2_INPUT { L2_INPUT } else { next },
            vni: message.vni,
            is_l3: message.is_l3,
        })
    }

    /// Returns the index and slot of the tunnel with the same key.
    fn tunnel(&self, wanted: &Tunnel) -> Option<(u32, u32)> {
        let mut tunnels = self.tunnels();
        let found = tunnels.find(|(_, other)| other.key() == wanted.key());
        found.map(|(index, other)| (index, other.slot))
    }

    fn tunnels(&self) -> impl Iterator<Item = (u32, &Tunnel)> {
        self.interfaces.iter().filter_map(|(index, interface)| match &interface.device {
            Device::Tunnel(tunnel) => Some((index, tunnel)),
            _ => None,
        })
    }
}

impl List for VxlanTunnelV2Dump {
    fn list(&self, state: &State) -> Vec<VxlanTunnelV2Details> {
        let wanted = |index: u32| self.sw_if_index == NO_INTERFACE || self.sw_if_index == index;
        let tunnels = state.tunnels().filter(|(index, _)| wanted(*index));
        tunnels.map(|(index, tunnel)| details(index, tunnel)).collect()
    }
}

fn details(sw_if_index: u32, tunnel: &Tunnel) -> VxlanTunnelV2Details {
    VxlanTunnelV2Details {
        sw_if_index,
        instance: tunnel.instance,
        src_address: tunnel.source.into(),
        dst_address: tunnel.destination.into(),
        src_port: tunnel.ports.0,
        dst_port: tunnel.ports.1,
        mcast_sw_if_index: tunnel.multicast_interface,
        encap_vrf_id: tunnel.table.1,
        decap_next_index: tunnel.decap_next_index,
        vni: tunnel.vni,
    }
}
