//! Tap devices of the kernel, whose other end VPP has (`tapv2.api`, of the tap plugin).
//!
//! From the source of VPP 26.06; with it was seen that the device stays with its addresses when VPP
//! is killed, and is attached again:
//! - VPP opens `/dev/net/tun` and `/dev/vhost-net`; without the second one it refuses with -11.
//! - The device is created in the namespace, or the one of that name there is attached, if it is a
//!   tap that no program has. A persistent device stays when VPP ends, with its addresses and
//!   routes, and is deleted by [`TapDeleteV2`].
//! - VPP sets MAC address and MTU of the device also where it attaches one. Without a MAC address
//!   it sets a random one.
//! - A refused creation deletes the device.

use super::macros::{dumps, requests};
use crate::wire::{FixedText, Text, flags};

const PLUGIN: Option<&str> = Some("tap_plugin.so");

/// As the id of a tap it means any that is free.
pub const ANY_TAP: u32 = u32::MAX;

flags! {
    TapFlags {
        GSO = 1,
        CSUM_OFFLOAD = 2,
        /// The device stays when VPP ends.
        PERSIST = 4,
        ATTACH = 8,
        TUN = 16,
    }
}

requests! { TAP_REQUESTS, PLUGIN;
    TapCreateV3("tap_create_v3", "3f3fd1df") {
        /// The number in the interface's name, or [`ANY_TAP`].
        id: u32,
        use_random_mac: bool,
        /// Of VPP's interface.
        mac_address: [u8; 6],
        num_rx_queues: u16,
        num_tx_queues: u16,
        tx_ring_sz: u16,
        rx_ring_sz: u16,
        host_mtu_set: bool,
        host_mtu_size: u32,
        host_mac_addr_set: bool,
        /// Of the device.
        host_mac_addr: [u8; 6],
        host_ip4_prefix_set: bool,
        /// The address and the length of its prefix.
        host_ip4_prefix: [u8; 5],
        host_ip6_prefix_set: bool,
        host_ip6_prefix: [u8; 17],
        host_ip4_gw_set: bool,
        host_ip4_gw: [u8; 4],
        host_ip6_gw_set: bool,
        host_ip6_gw: [u8; 16],
        tap_flags: TapFlags,
        host_namespace_set: bool,
        /// A path, or a name in `/var/run/netns`.
        host_namespace: FixedText<64>,
        host_if_name_set: bool,
        host_if_name: FixedText<64>,
        host_bridge_set: bool,
        host_bridge: FixedText<64>,
        tag: Text,
    } => TapCreateV3Reply("5383d31f") {
        sw_if_index: u32,
    }

    TapDeleteV2("tap_delete_v2", "f9e6675e") {
        sw_if_index: u32,
    } => TapDeleteV2Reply("e8d4e804") {}
}

dumps! { TAP_DUMPS, PLUGIN;
    SwInterfaceTapV2Dump("sw_interface_tap_v2_dump", "f9e6675e") {
        /// [`NO_INTERFACE`](super::NO_INTERFACE) means all.
        sw_if_index: u32,
    } => SwInterfaceTapV2Details("sw_interface_tap_v2_details", "1e2b2a47") {
        sw_if_index: u32,
        id: u32,
        tx_ring_sz: u16,
        rx_ring_sz: u16,
        host_mtu_size: u32,
        host_mac_addr: [u8; 6],
        host_ip4_prefix: [u8; 5],
        host_ip6_prefix: [u8; 17],
        tap_flags: TapFlags,
        dev_name: FixedText<64>,
        host_if_name: FixedText<64>,
        host_namespace: FixedText<64>,
        host_bridge: FixedText<64>,
    }
}
