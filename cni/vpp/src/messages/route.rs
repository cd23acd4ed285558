//! Routes, and interfaces that use the address of another one (`ip.api`, `fib_types.api`, and what
//! of `interface.api` is about them).
//!
//! Seen with VPP 26.06:
//! - An interface without an address drops IP packets, unless it uses that of another one. Both
//!   have to be bound to the same tables (-74), and a binding cannot change meanwhile (-114).
//! - It is not told when the other interface is deleted: it has to be taken off before.
//! - Without `is_multipath` a route gets exactly these paths, or is deleted with all of its paths.
//! - A route stays when the interface of its path is deleted.

use super::ip::Prefix;
use super::macros::{dumps, requests};
use crate::wire::{DecodeError, Field, FixedText, Reader, Writer, decode_elements, open_enum, structure};

open_enum! {
    /// What a path leads to.
    FibPathType {
        /// A neighbour or an interface.
        Normal = 0,
        /// VPP itself.
        Local = 1,
        /// Nothing: packets are dropped.
        Drop = 2,
    }
}

open_enum! {
    /// The protocol of a next hop.
    FibPathProto {
        /// IPv4.
        Ip4 = 0,
        /// IPv6.
        Ip6 = 1,
    }
}

structure! {
    /// A path of a route.
    FibPath {
        /// The interface.
        sw_if_index: u32,
        /// Where the next hop is looked up, without an interface.
        table_id: u32,
        /// Of multicast.
        rpf_id: u32,
        /// Its share among paths of the same preference.
        weight: u8,
        /// The lowest is used.
        preference: u8,
        /// What it leads to.
        path_type: FibPathType,
        /// How a next hop is resolved.
        flags: u32,
        /// The protocol of the next hop.
        proto: FibPathProto,
        /// The next hop; zeros for the interface itself.
        next_hop: [u8; 16],
        /// Of MPLS.
        via_label: u32,
        /// An object of VPP.
        obj_id: u32,
        /// A classifier.
        classify_table_index: u32,
        /// How many labels of the stack count.
        n_labels: u8,
        /// Of MPLS.
        label_stack: [[u8; 7]; 16],
    }
}

/// The paths of a route, preceded by their number as u8.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FibPaths(pub Vec<FibPath>);

impl Field for FibPaths {
    const MIN_SIZE: usize = u8::MIN_SIZE;

    /// Only as many as can be counted.
    fn encode(&self, writer: &mut Writer) {
        let count = u8::try_from(self.0.len()).unwrap_or(u8::MAX);
        writer.field(&count);
        self.0.iter().take(count.into()).for_each(|path| path.encode(writer));
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = u8::decode(reader)?;
        decode_elements(reader, count.into()).map(Self)
    }
}

structure! {
    /// A route.
    IpRoute {
        /// Its table.
        table_id: u32,
        /// Of its counters.
        stats_index: u32,
        /// Its destination.
        prefix: Prefix,
        /// Its paths.
        paths: FibPaths,
    }
}

structure! {
    /// A table, by its id and family.
    IpTable {
        /// Its id.
        table_id: u32,
        /// Whether it is of IPv6.
        is_ip6: bool,
        /// Its name.
        name: FixedText<64>,
    }
}

requests! { ROUTE_REQUESTS, None;
    /// Adds a route or its paths, or removes them.
    IpRouteAddDel("ip_route_add_del", "b8ecfe0d") {
        is_add: bool,
        is_multipath: bool,
        route: IpRoute,
    } => IpRouteAddDelReply("1992deab") {
        stats_index: u32,
    }

    /// Lets an interface use the address of another one.
    SwInterfaceSetUnnumbered("sw_interface_set_unnumbered", "154a6439") {
        /// The one that has the address.
        sw_if_index: u32,
        unnumbered_sw_if_index: u32,
        is_add: bool,
    } => SwInterfaceSetUnnumberedReply("e8d4e804") {}
}

dumps! { ROUTE_DUMPS, None;
    /// Reads the routes of a table.
    IpRouteDump("ip_route_dump", "b9d2e09e") {
        table: IpTable,
    } => IpRouteDetails("ip_route_details", "bda8f315") {
        route: IpRoute,
    }

    /// Reads which interfaces use the address of another one.
    IpUnnumberedDump("ip_unnumbered_dump", "f9e6675e") {
        sw_if_index: u32,
    } => IpUnnumberedDetails("ip_unnumbered_details", "cc59bd42") {
        sw_if_index: u32,
        /// The one that has the address.
        ip_sw_if_index: u32,
    }
}
