//! MAC addresses of interfaces.

use super::names::fnv1a;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Pattern of MAC addresses for the CRD: a group address has an odd first byte.
pub const MAC_PATTERN: &str = "^[0-9a-fA-F][02468aAcCeE](:[0-9a-fA-F]{2}){5}$";
/// The all-zero address, which that pattern does not exclude.
pub const NO_MAC: &str = "00:00:00:00:00:00";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "MAC address {0:?} is not valid: write six pairs of hexadecimal digits with colons, the first pair even (not a group address)"
)]
pub struct InvalidMac(String);

/// A MAC address of one interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MacAddress([u8; 6]);

impl MacAddress {
    /// A derived address where none was requested: locally administered (`02:…`), and stable for
    /// the name.
    pub fn of(name: &str) -> Self {
        let [_, _, _, a, b, c, d, e] = fnv1a(name.as_bytes()).to_be_bytes();
        Self([0x02, a, b, c, d, e])
    }

    /// The address with these octets; none for a group address and for all zeros.
    pub fn from_octets(octets: [u8; 6]) -> Option<Self> {
        let [first, ..] = octets;
        // The lowest bit of the first byte says that it is the address of a group (IEEE 802).
        (first & 1 == 0 && octets != [0; 6]).then_some(Self(octets))
    }

    /// The address that comes this number of addresses later; none if the first octet, which tells
    /// groups from interfaces, would change.
    pub fn after(self, count: u32) -> Option<Self> {
        let [first, a, b, c, d, e] = self.0;
        let later = u64::from_be_bytes([0, 0, 0, a, b, c, d, e]) + u64::from(count);
        let [_, _, overflow, a, b, c, d, e] = later.to_be_bytes();
        (overflow == 0).then(|| Self::from_octets([first, a, b, c, d, e])).flatten()
    }

    /// Whether no manufacturer assigns the address.
    pub const fn is_locally_administered(self) -> bool {
        let [first, ..] = self.0;
        first & 2 != 0
    }

    /// The octets, in network order.
    pub const fn octets(self) -> [u8; 6] {
        self.0
    }
}

impl FromStr for MacAddress {
    type Err = InvalidMac;
    fn from_str(text: &str) -> Result<Self, InvalidMac> {
        let invalid = || InvalidMac(text.to_owned());
        let pairs: Option<Vec<u8>> = text.split(':').map(pair).collect();
        let bytes = <[u8; 6]>::try_from(pairs.ok_or_else(invalid)?).map_err(|_| invalid())?;
        Self::from_octets(bytes).ok_or_else(invalid)
    }
}

fn pair(text: &str) -> Option<u8> {
    let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits.then(|| u8::from_str_radix(text, 16).ok()).flatten()
}

impl fmt::Display for MacAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(formatter, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

impl TryFrom<String> for MacAddress {
    type Error = InvalidMac;
    fn try_from(text: String) -> Result<Self, InvalidMac> {
        text.parse()
    }
}

impl From<MacAddress> for String {
    fn from(address: MacAddress) -> Self {
        address.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_address_keeps_the_first_octet() {
        let after = |text: &str, count| {
            let later = text.parse::<MacAddress>().unwrap().after(count);
            later.map(|later| later.to_string())
        };
        assert_eq!(after("02:00:00:00:00:fe", 3).as_deref(), Some("02:00:00:00:01:01"));
        assert_eq!(after("02:ff:ff:ff:ff:fe", 1).as_deref(), Some("02:ff:ff:ff:ff:ff"));
        assert_eq!(after("02:ff:ff:ff:ff:fe", 2), None);
    }

    #[test]
    fn only_unicast_addresses_are_accepted() {
        assert_eq!("02:00:AA:bb:01:0f".parse::<MacAddress>().unwrap().to_string(), "02:00:aa:bb:01:0f");
        for bad in [
            "",
            "02:00:aa:bb:01",
            "02:00:aa:bb:01:0f:00",
            "01:00:5e:00:00:01",
            "02-00-aa-bb-01-0f",
            "+2:00:00:00:00:00",
            NO_MAC,
        ] {
            assert!(bad.parse::<MacAddress>().is_err(), "{bad}");
        }
    }
}
