//! The changes of gateways and routing tables, and their messages.

use crate::engine::vpp::command::{Find, add, add_with};
use crate::engine::vpp::tags::Tag;
use crate::model::routing::PrefixedAddress;
use usnet_vpp::messages::{
    CreateLoopbackInstance, DeleteLoopback, IpTableAddDel, L2PortType, Prefix, SwInterfaceAddDelAddress,
    SwInterfaceSetL2Bridge, SwInterfaceSetMacAddress, SwInterfaceSetTable,
};
use usnet_vpp::{Batch, ReturnCode};

/// One change.
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
}

impl RoutingCommand {
    /// Whether it does no harm that VPP rejects it with this code: what it deletes is gone.
    pub(in crate::engine::vpp) fn is_harmless(&self, code: ReturnCode) -> bool {
        match self {
            Self::DeleteLoopback { .. } => code == ReturnCode::InvalidSwIfIndex,
            Self::RemoveAddress { .. } => {
                matches!(code, ReturnCode::InvalidSwIfIndex | ReturnCode::AddressNotFoundForInterface)
            }
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
        }
    }
}

fn request(sw_if_index: u32, (ip, length): PrefixedAddress, is_add: bool) -> SwInterfaceAddDelAddress {
    SwInterfaceAddDelAddress { sw_if_index, is_add, del_all: false, prefix: Prefix::new(ip, length) }
}
