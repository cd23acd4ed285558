//! Routes, and interfaces that use the address of another interface (`ip.api`, `fib_types.api`, and
//! parts of `interface.api`).
//!
//! Seen with VPP 26.06:
//! - An interface without an address drops IP packets, unless it uses that of another one. Both
//!   have to be bound to the same tables (-74), and a binding cannot change meanwhile (-114).
//! - The interface does not notice that the other one is deleted: the use of the address has to be
//!   ended before.
//! - Without `is_multipath` a route gets exactly these paths, or is deleted with all of its paths.
//! - A route stays when the interface of its path is deleted.

use super::ip::Prefix;
use super::macros::{dumps, requests};
use crate::wire::{DecodeError, Field, FixedText, Reader, Writer, decode_elements, open_enum, structure};

open_enum! {
    /// The kind of a path's target.
    FibPathType {
        /// A neighbour or an interface.
        Normal = 0,
        /// VPP itself.
        Local = 1,
        /// Packets are dropped.
        Drop = 2,
    }
}

open_enum! {
    FibPathProto {
        Ip4 = 0,
        Ip6 = 1,
    }
}

structure! {
    FibPath {
        sw_if_index: u32,
        /// The table in which the next hop is looked up if there is no interface.
        table_id: u32,
        /// The field is for multicast.
        rpf_id: u32,
        /// The share among paths of the same preference.
        weight: u8,
        /// The path with the lowest preference is used.
        preference: u8,
        path_type: FibPathType,
        /// The way in which a next hop is resolved.
        flags: u32,
        proto: FibPathProto,
        /// The next hop; zeros for the interface itself.
        next_hop: [u8; 16],
        /// The field is for MPLS.
        via_label: u32,
        /// The id of an object of VPP.
        obj_id: u32,
        classify_table_index: u32,
        /// The number of labels in `label_stack`.
        n_labels: u8,
        /// The field is for MPLS.
        label_stack: [[u8; 7]; 16],
    }
}

/// The paths of a route, preceded by their number as u8.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FibPaths(pub Vec<FibPath>);

impl Field for FibPaths {
    const MIN_SIZE: usize = u8::MIN_SIZE;

    /// Encodes only as many paths as can be counted.
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
    IpRoute {
        table_id: u32,
        /// The index of the route's counters.
        stats_index: u32,
        prefix: Prefix,
        paths: FibPaths,
    }
}

structure! {
    /// A table is identified by its id and family.
    IpTable {
        table_id: u32,
        is_ip6: bool,
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

    /// Makes an interface use the address of another one.
    SwInterfaceSetUnnumbered("sw_interface_set_unnumbered", "154a6439") {
        /// The interface that has the address.
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

    /// Reads the interfaces that use the address of another one.
    IpUnnumberedDump("ip_unnumbered_dump", "f9e6675e") {
        sw_if_index: u32,
    } => IpUnnumberedDetails("ip_unnumbered_details", "cc59bd42") {
        sw_if_index: u32,
        /// The interface that has the address.
        ip_sw_if_index: u32,
    }
}
