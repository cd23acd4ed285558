//! The changes of gateways and routing tables, and their messages.

use super::neighbours;
use crate::engine::vpp::request::{Find, add, add_with};
use crate::engine::vpp::tags::Tag;
use crate::model::routing::PrefixedAddress;
use std::net::IpAddr;
use usnet_vpp::messages::{
    CreateLoopbackInstance, DeleteLoopback, FibPath, FibPathProto, FibPaths, IfStatusFlags, IpRoute, IpRouteAddDel,
    IpTableAddDel, L2PortType, Prefix, SwInterfaceAddDelAddress, SwInterfaceSetFlags, SwInterfaceSetL2Bridge,
    SwInterfaceSetMacAddress, SwInterfaceSetTable, SwInterfaceSetUnnumbered,
};
use usnet_vpp::{Batch, ReturnCode};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) enum RoutingCommand {
    AddTable {
        is_ip6: bool,
        id: u32,
        name: Tag,
    },
    DeleteTable {
        is_ip6: bool,
        id: u32,
    },
    CreateLoopback {
        mac: [u8; 6],
    },
    DeleteLoopback {
        index: u32,
    },
    SetTable {
        index: u32,
        is_ip6: bool,
        id: u32,
    },
    AddAddress {
        index: u32,
        address: PrefixedAddress,
    },
    RemoveAddress {
        index: u32,
        address: PrefixedAddress,
    },
    SetMac {
        index: u32,
        mac: [u8; 6],
    },
    /// Makes it the BVI of a bridge domain.
    Join {
        index: u32,
        domain: u32,
    },
    /// VPP forgets the neighbours that it learned there.
    SetDown {
        index: u32,
    },
    LimitNeighbours {
        is_ip6: bool,
    },
    /// Lets an interface use the addresses of a gateway, without which it takes no packets.
    UseAddressOf {
        index: u32,
        gateway: u32,
    },
    UseNoAddress {
        index: u32,
    },
    /// Routes an address to an interface, whatever it was routed to before.
    AddRoute {
        index: u32,
        table: u32,
        address: IpAddr,
    },
    RemoveRoute {
        index: u32,
        table: u32,
        address: IpAddr,
    },
}

impl RoutingCommand {
    /// Whether it does no harm that VPP rejects it with this code: what it deletes is gone.
    pub(in crate::engine::vpp) fn is_harmless(&self, code: ReturnCode) -> bool {
        match self {
            Self::DeleteLoopback { .. } => code == ReturnCode::InvalidSwIfIndex,
            Self::RemoveAddress { .. } => {
                matches!(code, ReturnCode::InvalidSwIfIndex | ReturnCode::AddressNotFoundForInterface)
            }
            // VPP says so, too, if the interface of the route is gone.
            Self::RemoveRoute { .. } => {
                matches!(code, ReturnCode::NoSuchFib | ReturnCode::NoSuchEntry | ReturnCode::InvalidSwIfIndex)
            }
            Self::UseNoAddress { .. } => code == ReturnCode::InvalidSwIfIndex,
            Self::DeleteTable { .. } => matches!(code, ReturnCode::NoSuchFib | ReturnCode::NoSuchEntry),
            _ => false,
        }
    }

    /// Adds its request to a batch.
    pub(in crate::engine::vpp) fn add_to(&self, batch: &mut Batch) -> Find {
        match self {
            Self::AddTable { is_ip6, id, name } => {
                add(batch, IpTableAddDel { is_add: true, table_id: *id, is_ip6: *is_ip6, name: name.clone() })
            }
            Self::DeleteTable { is_ip6, id } => {
                add(batch, IpTableAddDel { table_id: *id, is_ip6: *is_ip6, ..IpTableAddDel::default() })
            }
            Self::CreateLoopback { mac } => {
                let request = CreateLoopbackInstance { mac_address: *mac, ..CreateLoopbackInstance::default() };
                add_with(batch, request, |reply| reply.sw_if_index)
            }
            Self::DeleteLoopback { index } => add(batch, DeleteLoopback { sw_if_index: *index }),
            Self::SetTable { index, is_ip6, id } => {
                add(batch, SwInterfaceSetTable { sw_if_index: *index, is_ipv6: *is_ip6, vrf_id: *id })
            }
            Self::AddAddress { index, address } => add(batch, request(*index, *address, true)),
            Self::RemoveAddress { index, address } => add(batch, request(*index, *address, false)),
            Self::SetMac { index, mac } => {
                add(batch, SwInterfaceSetMacAddress { sw_if_index: *index, mac_address: *mac })
            }
            Self::Join { index, domain } => {
                let (port_type, enable) = (L2PortType::Bvi, true);
                add(batch, SwInterfaceSetL2Bridge { rx_sw_if_index: *index, bd_id: *domain, port_type, shg: 0, enable })
            }
            Self::SetDown { index } => {
                add(batch, SwInterfaceSetFlags { sw_if_index: *index, flags: IfStatusFlags::default() })
            }
            Self::LimitNeighbours { is_ip6 } => add(batch, neighbours::config(*is_ip6)),
            Self::UseAddressOf { index, gateway } => add(batch, unnumbered(*index, *gateway, true)),
            // VPP asks for a second interface here as well, and does not look at it.
            Self::UseNoAddress { index } => add(batch, unnumbered(*index, *index, false)),
            Self::AddRoute { index, table, address } => {
                let route = host_route(*index, *table, *address);
                add(batch, IpRouteAddDel { is_add: true, is_multipath: false, route })
            }
            // Only with this path: the address may be another port's by now.
            Self::RemoveRoute { index, table, address } => {
                let route = host_route(*index, *table, *address);
                add(batch, IpRouteAddDel { is_add: false, is_multipath: true, route })
            }
        }
    }
}

fn request(sw_if_index: u32, (ip, length): PrefixedAddress, is_add: bool) -> SwInterfaceAddDelAddress {
    SwInterfaceAddDelAddress { sw_if_index, is_add, del_all: false, prefix: Prefix::new(ip, length) }
}

fn unnumbered(unnumbered_sw_if_index: u32, sw_if_index: u32, is_add: bool) -> SwInterfaceSetUnnumbered {
    SwInterfaceSetUnnumbered { sw_if_index, unnumbered_sw_if_index, is_add }
}

/// The next hop is the interface itself, which has one neighbour.
fn host_route(sw_if_index: u32, table_id: u32, address: IpAddr) -> IpRoute {
    let (proto, length) = if address.is_ipv6() { (FibPathProto::Ip6, 128) } else { (FibPathProto::Ip4, 32) };
    let path = FibPath { sw_if_index, weight: 1, proto, ..FibPath::default() };
    IpRoute { table_id, prefix: Prefix::new(address, length), paths: FibPaths(vec![path]), ..IpRoute::default() }
}
