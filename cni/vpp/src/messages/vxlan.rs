//! VXLAN tunnels: interfaces whose frames go to another node, each in a UDP packet (`vxlan.api`).
//!
//! Seen with VPP 26.06:
//! - A tunnel that is there already is refused (-75), as is one whose ends are the same address
//!   (-82). A tunnel of IPv6 is there already whatever its source. Deleting one that is not there
//!   is refused (-6), as is one whose routing table is not there (-3).
//! - A new tunnel is up, and its MAC address is random. The request names it by what identifies it
//!   when it is deleted, and not by its index.
//! - A tunnel whose source is no address of VPP sends, and receives nothing.
//! - A tunnel that is deleted leaves its bridge domain.

use super::ip::Address;
use super::macros::{dumps, requests};

/// The plugin that has these messages.
const PLUGIN: &str = "vxlan_plugin.so";

/// In [`VxlanAddDelTunnelV3`]: VPP chooses the number in the name.
pub const ANY_INSTANCE: u32 = u32::MAX;

/// In [`VxlanAddDelTunnelV3`]: what arrives is forwarded in the bridge domain of the tunnel.
pub const DECAP_L2_INPUT: u32 = u32::MAX;

requests! { VXLAN_REQUESTS, Some(PLUGIN);
    /// Creates a tunnel, or deletes it.
    VxlanAddDelTunnelV3("vxlan_add_del_tunnel_v3", "0072b037") {
        is_add: bool,
        /// The number in its name, or [`ANY_INSTANCE`].
        instance: u32,
        src_address: Address,
        dst_address: Address,
        /// The UDP port that is listened on. Packets leave from other ones.
        src_port: u16,
        /// The UDP port of the other end.
        dst_port: u16,
        /// For a multicast destination, else [`NO_INTERFACE`](super::NO_INTERFACE).
        mcast_sw_if_index: u32,
        /// The routing table that leads to the other end.
        encap_vrf_id: u32,
        /// What is done with what arrives, for example [`DECAP_L2_INPUT`].
        decap_next_index: u32,
        vni: u32,
        /// Whether it has IP packets instead of Ethernet frames.
        is_l3: bool,
    } => VxlanAddDelTunnelV3Reply("5383d31f") {
        sw_if_index: u32,
    }
}

dumps! { VXLAN_DUMPS, Some(PLUGIN);
    /// Reads tunnels.
    VxlanTunnelV2Dump("vxlan_tunnel_v2_dump", "f9e6675e") {
        /// [`NO_INTERFACE`](super::NO_INTERFACE) for all.
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
