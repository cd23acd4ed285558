//! The neighbours of VPP's own addresses (`ip_neighbor.api`): which MAC address each IP address on
//! a link has.
//!
//! Seen with VPP 26.06:
//! - The limit is one for each family, for all interfaces together. By default it is 50000, nothing
//!   ages, and a full table learns nothing more.
//! - An interface that is set down loses the neighbours that it learned.
//! - VPP learns the sender of each ARP request for its address, and of each ARP reply and neighbour
//!   advertisement to it, whether it asked or not.

use super::ip::{Address, AddressFamily};
use super::macros::{dumps, requests};
use crate::wire::structure;

/// In the flags of [`IpNeighbor`]: a client has set it, and what is learned does not replace it.
pub const STATIC_NEIGHBOR: u8 = 1;

structure! {
    /// A neighbour.
    IpNeighbor {
        /// The interface to it.
        sw_if_index: u32,
        /// [`STATIC_NEIGHBOR`], 2 for one without a route of its own, or both.
        flags: u8,
        /// Its MAC address.
        mac_address: [u8; 6],
        /// Its IP address.
        ip_address: Address,
    }
}

requests! { NEIGHBOR_REQUESTS, None;
    /// Adds a neighbour, or removes it.
    IpNeighborAddDel("ip_neighbor_add_del", "0607c257") {
        is_add: bool,
        neighbor: IpNeighbor,
    } => IpNeighborAddDelReply("1992deab") {
        stats_index: u32,
    }

    /// Sets how many neighbours of a family there may be, and what becomes of old ones.
    IpNeighborConfig("ip_neighbor_config", "f4a5cf44") {
        af: AddressFamily,
        max_number: u32,
        /// In seconds; 0 for never.
        max_age: u32,
        /// Whether the oldest goes when there are as many as there may be.
        recycle: bool,
    } => IpNeighborConfigReply("e8d4e804") {}

    /// Reads what [`IpNeighborConfig`] sets.
    IpNeighborConfigGet("ip_neighbor_config_get", "a5db7bf7") {
        af: AddressFamily,
    } => IpNeighborConfigGetReply("798e6fdd") {
        af: AddressFamily,
        max_number: u32,
        max_age: u32,
        recycle: bool,
    }
}

dumps! { NEIGHBOR_DUMPS, None;
    /// Reads the neighbours of a family.
    IpNeighborDump("ip_neighbor_dump", "d817a484") {
        /// [`NO_INTERFACE`](super::NO_INTERFACE) for those of all.
        sw_if_index: u32,
        af: AddressFamily,
    } => IpNeighborDetails("ip_neighbor_details", "e29d79f0") {
        /// The bytes of a floating-point number of seconds.
        age: u64,
        neighbor: IpNeighbor,
    }
}
