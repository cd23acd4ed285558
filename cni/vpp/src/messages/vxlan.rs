//! VXLAN tunnels: interfaces whose frames are sent to another node, each in a UDP packet
//! (`vxlan.api`).
//!
//! Seen with VPP 26.06:
//! - A tunnel that exists already is refused (-75), as is one whose ends are the same address
//!   (-82). Tunnels of IPv6 count as the same even with another source. Deleting a tunnel that does
//!   not exist is refused (-6), as is one whose routing table does not exist (-3).
//! - A new tunnel is up, and its MAC address is random. The request that deletes it identifies it
//!   by its ends and VNI, and not by its index.
//! - A tunnel whose source is not an address of VPP sends, and receives nothing.
//! - A tunnel that is deleted leaves its bridge domain.

use super::ip::Address;
use super::macros::{dumps, requests};

const PLUGIN: &str = "vxlan_plugin.so";

/// This value in [`VxlanAddDelTunnelV3`] lets VPP choose the number in the name.
pub const ANY_INSTANCE: u32 = u32::MAX;

/// This value in [`VxlanAddDelTunnelV3`] forwards received frames in the bridge domain of the
/// tunnel.
pub const DECAP_L2_INPUT: u32 = u32::MAX;

requests! { VXLAN_REQUESTS, Some(PLUGIN);
    /// Creates a tunnel, or deletes it.
    VxlanAddDelTunnelV3("vxlan_add_del_tunnel_v3", "0072b037") {
        is_add: bool,
        /// The number in the interface's name, or [`ANY_INSTANCE`].
        instance: u32,
        src_address: Address,
        dst_address: Address,
        /// The UDP port on which packets are received. They are sent from other ports.
        src_port: u16,
        /// The UDP port of the remote end.
        dst_port: u16,
        /// The interface for a multicast destination, else [`NO_INTERFACE`](super::NO_INTERFACE).
        mcast_sw_if_index: u32,
        /// The routing table that leads to the remote end.
        encap_vrf_id: u32,
        /// The graph node for received frames, for example [`DECAP_L2_INPUT`].
        decap_next_index: u32,
        vni: u32,
        /// Whether the tunnel carries IP packets instead of Ethernet frames.
        is_l3: bool,
    } => VxlanAddDelTunnelV3Reply("5383d31f") {
        sw_if_index: u32,
    }
}

dumps! { VXLAN_DUMPS, Some(PLUGIN);
    VxlanTunnelV2Dump("vxlan_tunnel_v2_dump", "f9e6675e") {
        /// [`NO_INTERFACE`](super::NO_INTERFACE) means all.
        sw_if_index: u32,
    } => VxlanTunnelV2Details("vxlan_tunnel_v2_details", "d3bdd4d9") {
        sw_if_index: u32,
        instance: u32,
        src_address: Address,
        dst_address: Address,
        src_port: u16,
        dst_port: u16,
        mcast_sw_if_index: u32,
        encap_vrf_id: u32,
        decap_next_index: u32,
        vni: u32,
    }
}
