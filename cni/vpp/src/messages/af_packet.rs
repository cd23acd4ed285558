//! Host interfaces: interfaces on devices of the kernel (`af_packet.api`).

use super::macros::{dumps, requests};
use crate::wire::{FixedText, flags, open_enum};

const PLUGIN: &str = "af_packet_plugin.so";

open_enum! {
    /// The kind of packets on the device.
    AfPacketMode {
        Ethernet = 1,
        Ip = 2,
    }
}

flags! {
    /// The way in which VPP uses the device.
    AfPacketFlags {
        /// Bypasses the kernel's queueing disciplines.
        QDISC_BYPASS = 1,
        /// Offloads checksums and segmentation to the device.
        CKSUM_GSO = 2,
        /// Uses rings of TPACKET_V2.
        VERSION_2 = 8,
    }
}

requests! { AF_PACKET_REQUESTS, Some(PLUGIN);
    /// Creates the host interface `host-<device>` on a device, and sets the device up.
    AfPacketCreateV3("af_packet_create_v3", "b3a809d4") {
        mode: AfPacketMode,
        hw_addr: [u8; 6],
        use_random_hw_addr: bool,
        host_if_name: FixedText<64>,
        /// The size in bytes. 0 in this and the next three fields is VPP's default: rings of 10 MiB
        /// for RX and 66 MiB for TX.
        rx_frame_size: u32,
        tx_frame_size: u32,
        rx_frames_per_block: u32,
        tx_frames_per_block: u32,
        flags: AfPacketFlags,
        num_rx_queues: u16,
        num_tx_queues: u16,
    } => AfPacketCreateV3Reply("5383d31f") {
        sw_if_index: u32,
    }

    /// Deletes the host interface of a device. The device is not deleted, and need not exist any
    /// more.
    AfPacketDelete("af_packet_delete", "863fa648") {
        host_if_name: FixedText<64>,
    } => AfPacketDeleteReply("e8d4e804") {}
}

dumps! { AF_PACKET_DUMPS, Some(PLUGIN);
    /// Reads all host interfaces.
    AfPacketDump("af_packet_dump", "51077d14") {} => AfPacketDetails("af_packet_details", "58c7c042") {
        sw_if_index: u32,
        host_if_name: FixedText<64>,
    }
}
