//! Addresses that a pod may use besides its own ones.

use super::mac::MacAddress;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Longest text of an IP address.
pub const ADDRESS_MAX: usize = 39;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the IP address of a host")]
pub struct InvalidHostAddress(String);

/// An IP address from which hosts send: neither of a group, nor loopback, nor unspecified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostAddress(IpAddr);

impl HostAddress {
    pub const fn ip(self) -> IpAddr {
        self.0
    }
}

impl FromStr for HostAddress {
    type Err = InvalidHostAddress;
    fn from_str(text: &str) -> Result<Self, InvalidHostAddress> {
        let is_of_host = |ip: &IpAddr| match ip {
            // From 224.0.0.0 on they are of groups, reserved, or the broadcast address.
            IpAddr::V4(ip) => !ip.is_unspecified() && !ip.is_loopback() && ip.to_bits() < 0xe000_0000,
            IpAddr::V6(ip) => {
                !ip.is_unspecified() && !ip.is_loopback() && !ip.is_multicast() && ip.to_ipv4_mapped().is_none()
            }
        };
        let parsed = text.parse().ok().filter(is_of_host);
        parsed.map(Self).ok_or_else(|| InvalidHostAddress(text.to_owned()))
    }
}

impl TryFrom<String> for HostAddress {
    type Error = InvalidHostAddress;
    fn try_from(text: String) -> Result<Self, InvalidHostAddress> {
        text.parse()
    }
}

impl From<HostAddress> for String {
    fn from(address: HostAddress) -> Self {
        address.to_string()
    }
}

impl fmt::Display for HostAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// An address that a pod may use besides its own ones, such as that of a virtual router.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AddressPair {
    /// The IP address.
    pub ip: HostAddress,
    /// The MAC address that it has; none means that of the interface. The pod may use its own IP
    /// addresses with it, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<MacAddress>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn only_hosts_have_pairs() {
        for text in ["10.9.0.100", "169.254.1.1", "fd09::100", "fe80::1"] {
            assert_eq!(text.parse::<HostAddress>().unwrap().to_string(), text);
        }
        let others =
            ["", "10.9.0.100/24", "0.0.0.0", "127.0.0.1", "224.0.0.18", "255.255.255.255", "::", "::1", "ff02::12"];
        for text in others.into_iter().chain(["::ffff:10.9.0.100"]) {
            assert_eq!(text.parse::<HostAddress>(), Err(InvalidHostAddress(text.to_owned())));
        }
    }

    #[test]
    fn the_mac_address_may_be_left_out() {
        let read = |value: Value| serde_json::from_value::<AddressPair>(value).unwrap();
        for value in [json!({"ip": "10.9.0.100"}), json!({"ip": "fd09::1", "mac": "00:00:5e:00:01:05"})] {
            assert_eq!(serde_json::to_value(read(value.clone())).unwrap(), value);
        }
    }
}
