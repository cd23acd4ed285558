//! Addresses of interfaces, with the prefix lengths of their subnets.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an address with its prefix length: use CIDR notation, such as 10.56.217.5/24")]
pub struct InvalidAddress(String);

/// The address of an interface, with the length of its subnet's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct InterfaceAddress(IpNet);

impl InterfaceAddress {
    /// An address in a subnet with this length of its prefix; none if no prefix of the family is so
    /// long.
    pub fn new(address: IpAddr, prefix: u8) -> Option<Self> {
        IpNet::new(address, prefix).ok().map(Self)
    }

    pub const fn ip(self) -> IpAddr {
        match self.0 {
            IpNet::V4(net) => IpAddr::V4(net.addr()),
            IpNet::V6(net) => IpAddr::V6(net.addr()),
        }
    }

    pub fn subnet(self) -> IpNet {
        self.0.trunc()
    }

    /// Whether a host can have the address: it is not the subnet's own or its broadcast address,
    /// nor a multicast, link-local or loopback address.
    pub fn is_host(self) -> bool {
        let net = self.subnet();
        let (is_unicast, is_broadcast) = match self.ip() {
            IpAddr::V4(ip) => {
                let special = ip.is_unspecified() || ip.is_loopback() || ip.is_link_local();
                (!(special || ip.is_multicast() || ip.is_broadcast()), net.broadcast() == IpAddr::V4(ip))
            }
            IpAddr::V6(ip) => {
                let special = ip.is_unspecified() || ip.is_loopback() || ip.is_unicast_link_local();
                (!(special || ip.is_multicast()), false)
            }
        };
        let is_broadcast = is_broadcast && net.prefix_len() < 31;
        is_unicast && !is_broadcast && net.network() != self.ip()
    }

    /// Whether an interface can have the address: as [`is_host`](Self::is_host), but also a
    /// link-local address, both addresses of a subnet of two, and the only one of a subnet.
    pub fn is_assignable(self) -> bool {
        let ip = self.ip();
        let is_special = ip.is_unspecified() || ip.is_loopback() || ip.is_multicast();
        let is_of_subnet = match self.0 {
            IpNet::V4(net) if net.prefix_len() < 31 => [net.network(), net.broadcast()].contains(&net.addr()),
            IpNet::V4(net) => net.addr().is_broadcast(),
            IpNet::V6(net) => net.prefix_len() < 127 && net.network() == net.addr(),
        };
        !is_special && !is_of_subnet
    }

    /// The address that comes this number of addresses later in its subnet; none if the subnet
    /// ends before.
    pub fn after(self, count: u32) -> Option<Self> {
        let address = match self.ip() {
            IpAddr::V4(ip) => Ipv4Addr::from_bits(ip.to_bits().checked_add(count)?).into(),
            IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits().checked_add(count.into())?).into(),
        };
        let later = Self::new(address, self.prefix())?;
        (later.subnet() == self.subnet()).then_some(later)
    }

    /// The length of the prefix, in bits.
    pub fn prefix(self) -> u8 {
        self.0.prefix_len()
    }
}

impl FromStr for InterfaceAddress {
    type Err = InvalidAddress;
    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let invalid = || InvalidAddress(text.to_owned());
        match text.parse().map_err(|_| invalid())? {
            // The API server rejects IPv4-mapped IPv6 addresses as well: an address would have two
            // forms.
            IpNet::V6(net) if net.addr().to_ipv4_mapped().is_some() => Err(invalid()),
            net => Ok(Self(net)),
        }
    }
}

impl TryFrom<String> for InterfaceAddress {
    type Error = InvalidAddress;
    fn try_from(text: String) -> Result<Self, InvalidAddress> {
        text.parse()
    }
}

impl From<InterfaceAddress> for String {
    fn from(address: InterfaceAddress) -> Self {
        address.to_string()
    }
}

impl fmt::Display for InterfaceAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_host_bits() {
        let address: InterfaceAddress = "10.56.217.131/24".parse().unwrap();
        assert_eq!((address.to_string().as_str(), address.prefix()), ("10.56.217.131/24", 24));
        assert_eq!(address.ip(), IpAddr::from([10, 56, 217, 131]));
        for bad in ["10.56.217.131", "10.56.217.131/33", "::ffff:10.0.0.1/120", "10.0.0.1/24 ", ""] {
            assert!(bad.parse::<InterfaceAddress>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_later_address_is_in_the_same_subnet() {
        let after = |text: &str, count| {
            let later = text.parse::<InterfaceAddress>().unwrap().after(count);
            later.map(|later| later.to_string())
        };
        assert_eq!(after("10.1.0.250/16", 10).as_deref(), Some("10.1.1.4/16"));
        assert_eq!(after("fd00::fff8/64", 10).as_deref(), Some("fd00::1:2/64"));
        assert_eq!((after("10.1.0.250/24", 6), after("255.255.255.250/24", 9)), (None, None));
        assert_eq!(after("fd00::fff8/112", 10), None);
    }

    #[test]
    fn not_every_address_of_a_subnet_is_one_of_a_host() {
        let is_host = |text: &str| text.parse::<InterfaceAddress>().unwrap().is_host();
        for good in ["10.1.0.1/16", "10.1.255.254/16", "10.1.0.1/31", "fd00::1/64", "fd00::ffff/112"] {
            assert!(is_host(good), "{good}");
        }
        for bad in [
            "10.1.0.0/16",
            "10.1.255.255/16",
            "10.1.0.1/32",
            "127.0.0.1/8",
            "169.254.0.1/16",
            "224.0.0.1/4",
            "fd00::/64",
            "fe80::1/64",
            "::1/64",
            "ff02::1/64",
        ] {
            assert!(!is_host(bad), "{bad}");
        }
    }
}
