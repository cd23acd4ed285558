//! What identifies a NIC of a node.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Longest name of a network device of Linux, in bytes.
pub const NIC_NAME_MAX: usize = 15;
/// Pattern of names of NICs for the CRD. Linux allows more characters, and no distribution uses
/// them.
pub const NIC_NAME_PATTERN: &str = "^[a-zA-Z0-9_][a-zA-Z0-9_.-]*$";
/// Pattern of PCI addresses for the CRD.
pub const PCI_ADDRESS_PATTERN: &str = "^[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[01][0-9a-fA-F][.][0-7]$";
/// Length of a PCI address with its domain, in bytes.
pub const PCI_ADDRESS_LENGTH: usize = 12;

/// Why the identification of a NIC was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidNic {
    #[error("{0:?} is not the name of a NIC: use 1 to {NIC_NAME_MAX} letters, digits, '_', '.' and '-', as in eth1")]
    Name(String),
    #[error("{0:?} is not a PCI address: write it with its domain, as 0000:3b:00.0")]
    PciAddress(String),
}

/// The name of a NIC in Linux.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NicName(String);

/// The PCI address of a NIC. In its bits are the domain (16), the bus (8), the device (5) and the
/// function (3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PciAddress(u32);

impl TryFrom<String> for NicName {
    type Error = InvalidNic;
    fn try_from(name: String) -> Result<Self, InvalidNic> {
        let first = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_valid = (1..=NIC_NAME_MAX).contains(&name.len())
            && name.bytes().next().is_some_and(first)
            && name.bytes().all(|byte| first(byte) || byte == b'.' || byte == b'-');
        // The kernel's word for the settings of all devices, and its loopback.
        let is_reserved = ["all", "default", "lo"].contains(&name.as_str());
        if is_valid && !is_reserved { Ok(Self(name)) } else { Err(InvalidNic::Name(name)) }
    }
}

impl NicName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for NicName {
    type Err = InvalidNic;
    fn from_str(text: &str) -> Result<Self, InvalidNic> {
        Self::try_from(text.to_owned())
    }
}

impl From<NicName> for String {
    fn from(name: NicName) -> Self {
        name.0
    }
}

impl fmt::Display for NicName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl PciAddress {
    /// The address as a number, for a tag with little room.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The address that has this number.
    pub const fn of_number(number: u32) -> Self {
        Self(number)
    }

    fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_hexdigit() || byte == b':' || byte == b'.';
        let is_of_length = text.len() == PCI_ADDRESS_LENGTH && text.bytes().all(is_digit);
        let (domain, rest) = text.split_once(':').filter(|_| is_of_length)?;
        let (bus, rest) = rest.split_once(':')?;
        let (device, function) = rest.split_once('.')?;
        let number = |part: &str, length: usize, bits: u32| {
            let number = u32::from_str_radix(part, 16).ok().filter(|_| part.len() == length)?;
            Some(number).filter(|number| number >> bits == 0)
        };
        let (domain, bus) = (number(domain, 4, 16)?, number(bus, 2, 8)?);
        let (device, function) = (number(device, 2, 5)?, number(function, 1, 3)?);
        Some(Self(domain << 16 | bus << 8 | device << 3 | function))
    }
}

impl FromStr for PciAddress {
    type Err = InvalidNic;

    /// Upper and lower case are the same.
    fn from_str(text: &str) -> Result<Self, InvalidNic> {
        Self::parse(text).ok_or_else(|| InvalidNic::PciAddress(text.to_owned()))
    }
}

impl TryFrom<String> for PciAddress {
    type Error = InvalidNic;
    fn try_from(text: String) -> Result<Self, InvalidNic> {
        text.parse()
    }
}

impl From<PciAddress> for String {
    fn from(address: PciAddress) -> Self {
        address.to_string()
    }
}

impl fmt::Display for PciAddress {
    /// In lower case, as Linux writes it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number) = self;
        let (domain, bus, device, function) = (number >> 16, number >> 8 & 0xff, number >> 3 & 0x1f, number & 7);
        write!(formatter, "{domain:04x}:{bus:02x}:{device:02x}.{function}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_devices() {
        assert!(
            ["eth1", "ens3f0", "enp59s0f0np0", "_x", "eth0.100"].iter().all(|name| name.parse::<NicName>().is_ok())
        );
        for bad in ["", "eth 1", "eth/1", "-a", "..", "lo", "all", "a23456789abcdef0"] {
            assert!(bad.parse::<NicName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn pci_addresses_have_one_form() {
        let address: PciAddress = "0000:3B:1f.7".parse().unwrap();
        assert_eq!(address.to_string(), "0000:3b:1f.7");
        for text in ["0000:3b:00.1", "ffff:ff:1f.7", "0000:00:00.0"] {
            let address: PciAddress = text.parse().unwrap();
            assert_eq!((address.to_string().as_str(), PciAddress::of_number(address.number())), (text, address));
        }
        for bad in [
            "",
            "3b:00.0",
            "0000:3b:00.8",
            "0000:3b:20.0",
            "0000:3b:00:0",
            "0000.3b:00:0",
            "0000:3b:00.0 ",
            "00é:3b:00.0",
            "0000:+b:00.0",
            "00000:b:00.0",
        ] {
            assert!(bad.parse::<PciAddress>().is_err(), "{bad}");
        }
    }
}
