//! The neighbours of VPP's own addresses (`ip_neighbor.api`): the MAC address of each IP address on
//! a link.
//!
//! Seen with VPP 26.06:
//! - There is one limit for each family, for all interfaces together. By default it is 50000,
//!   nothing ages, and a full table learns nothing more.
//! - An interface that is set down loses the neighbours that it learned.
//! - VPP learns the sender of each ARP request for its address, and of each ARP reply and neighbour
//!   advertisement to it, even without a request.

use super::ip::{Address, AddressFamily};
use super::macros::{dumps, requests};
use crate::wire::structure;

/// This flag of [`IpNeighbor`] means that a client has added it, and that learning does not replace
/// it.
pub const STATIC_NEIGHBOR: u8 = 1;

structure! {
    IpNeighbor {
        /// The interface on which the neighbour is.
        sw_if_index: u32,
        /// The flags are [`STATIC_NEIGHBOR`] and 2, which means no route to the neighbour.
        flags: u8,
        mac_address: [u8; 6],
        ip_address: Address,
    }
}

requests! { NEIGHBOR_REQUESTS, None;
    IpNeighborAddDel("ip_neighbor_add_del", "0607c257") {
        is_add: bool,
        neighbor: IpNeighbor,
    } => IpNeighborAddDelReply("1992deab") {
        stats_index: u32,
    }

    /// Sets the most neighbours of a family, and the treatment of old ones.
    IpNeighborConfig("ip_neighbor_config", "f4a5cf44") {
        af: AddressFamily,
        max_number: u32,
        /// The age in seconds; 0 for no aging.
        max_age: u32,
        /// Whether the oldest neighbour is replaced when the limit is reached.
        recycle: bool,
    } => IpNeighborConfigReply("e8d4e804") {}

    /// Reads the settings of [`IpNeighborConfig`].
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
        /// [`NO_INTERFACE`](super::NO_INTERFACE) means all interfaces.
        sw_if_index: u32,
        af: AddressFamily,
    } => IpNeighborDetails("ip_neighbor_details", "e29d79f0") {
        /// The bytes of a floating-point number of seconds.
        age: u64,
        neighbor: IpNeighbor,
    }
}
