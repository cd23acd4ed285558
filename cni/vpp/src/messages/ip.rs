//! Addresses and routing tables (`ip.api`, and parts of `interface.api`).
//!
//! Seen with VPP 26.06:
//! - A table is for one family; table 0 of each always exists. Creating an existing table is
//!   accepted and changes nothing, not even its name.
//! - A deleted table stays as long as an interface is bound to it, and is then removed by itself.
//! - An interface with an address of a family cannot be bound to another table of this family
//!   (-114).
//! - An address that overlaps with the subnet of another interface in the same table is refused
//!   (-105), as is one that the interface has already. An interface can have several addresses of
//!   one subnet.

use super::macros::{dumps, requests};
use crate::wire::{FixedText, open_enum, structure};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

open_enum! {
    AddressFamily: u8 {
        Ip4 = 0,
        Ip6 = 1,
    }
}

structure! {
    /// An address of either family.
    Address {
        family: AddressFamily,
        /// An IPv4 address is in the first four bytes.
        bytes: [u8; 16],
    }
}

structure! {
    /// An address with the length of its prefix.
    Prefix {
        address: Address,
        /// The length in bits.
        length: u8,
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        let (family, bytes) = match address {
            IpAddr::V4(v4) => {
                let [a, b, c, d] = v4.octets();
                (AddressFamily::Ip4, [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
            }
            IpAddr::V6(v6) => (AddressFamily::Ip6, v6.octets()),
        };
        Self { family, bytes }
    }
}

impl Address {
    /// Returns the address, or `None` for an unknown family.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        let [a, b, c, d, ..] = self.bytes;
        match self.family {
            AddressFamily::Ip4 => Some(Ipv4Addr::new(a, b, c, d).into()),
            AddressFamily::Ip6 => Some(Ipv6Addr::from(self.bytes).into()),
            AddressFamily::Other(_) => None,
        }
    }
}

impl Prefix {
    #[must_use]
    pub fn new(address: IpAddr, length: u8) -> Self {
        Self { address: address.into(), length }
    }

    /// Returns the address, or `None` for an unknown family.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        self.address.ip()
    }
}

requests! { IP_REQUESTS, None;
    /// Adds an address to an interface, or removes it.
    SwInterfaceAddDelAddress("sw_interface_add_del_address", "5463d73b") {
        sw_if_index: u32,
        is_add: bool,
        /// Removes all addresses of the interface.
        del_all: bool,
        prefix: Prefix,
    } => SwInterfaceAddDelAddressReply("e8d4e804") {}

    /// Binds an interface to a routing table of a family.
    SwInterfaceSetTable("sw_interface_set_table", "df42a577") {
        sw_if_index: u32,
        is_ipv6: bool,
        vrf_id: u32,
    } => SwInterfaceSetTableReply("e8d4e804") {}

    /// Reads the routing table of a family to which an interface is bound.
    SwInterfaceGetTable("sw_interface_get_table", "2d033de4") {
        sw_if_index: u32,
        is_ipv6: bool,
    } => SwInterfaceGetTableReply("a6eb0109") {
        vrf_id: u32,
    }

    SwInterfaceSetMacAddress("sw_interface_set_mac_address", "c536e7eb") {
        sw_if_index: u32,
        mac_address: [u8; 6],
    } => SwInterfaceSetMacAddressReply("e8d4e804") {}

    IpTableAddDel("ip_table_add_del", "0ffdaec0") {
        is_add: bool,
        table_id: u32,
        is_ip6: bool,
        name: FixedText<64>,
    } => IpTableAddDelReply("e8d4e804") {}
}

dumps! { IP_DUMPS, None;
    /// Reads all routing tables of both families.
    IpTableDump("ip_table_dump", "51077d14") {
    } => IpTableDetails("ip_table_details", "c79fca0f") {
        table_id: u32,
        is_ip6: bool,
        name: FixedText<64>,
    }

    /// Reads the addresses of a family of an interface.
    IpAddressDump("ip_address_dump", "2d033de4") {
        sw_if_index: u32,
        is_ipv6: bool,
    } => IpAddressDetails("ip_address_details", "ee29b797") {
        sw_if_index: u32,
        prefix: Prefix,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_back_as_it_was_written() {
        for text in ["10.1.2.3", "fd00:1::9"] {
            let address: IpAddr = text.parse().expect("an address");
            assert_eq!(Prefix::new(address, 24).ip(), Some(address));
        }
        assert_eq!(Address { family: AddressFamily::Other(7), ..Address::default() }.ip(), None);
    }
}
