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
    /// Not a name.
    #[error("{0:?} is not the name of a NIC: use 1 to {NIC_NAME_MAX} letters, digits, '_', '.' and '-', as in eth1")]
    Name(String),
    /// Not a PCI address.
    #[error("{0:?} is not a PCI address: write it with its domain, as 0000:3b:00.0")]
    PciAddress(String),
}

/// The name of a NIC in Linux.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NicName(String);

/// The PCI address of a NIC: domain, bus, device and function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PciAddress(String);

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

impl TryFrom<String> for PciAddress {
    type Error = InvalidNic;

    /// In lower case, as Linux writes it.
    fn try_from(text: String) -> Result<Self, InvalidNic> {
        if is_pci_address(&text) { Ok(Self(text.to_ascii_lowercase())) } else { Err(InvalidNic::PciAddress(text)) }
    }
}

fn is_pci_address(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == PCI_ADDRESS_LENGTH
        && bytes.iter().zip(b"xxxx:xx:1x.7").all(|(byte, form)| match form {
            b'x' => byte.is_ascii_hexdigit(),
            b'1' => matches!(byte, b'0' | b'1'),
            b'7' => matches!(byte, b'0'..=b'7'),
            separator => byte == separator,
        })
}

macro_rules! text_conversions {
    ($($name:ident),*) => {$(
        impl $name {
            /// As text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl FromStr for $name {
            type Err = InvalidNic;
            fn from_str(text: &str) -> Result<Self, InvalidNic> {
                Self::try_from(text.to_owned())
            }
        }
        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    )*};
}
text_conversions!(NicName, PciAddress);

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
        assert_eq!(address.as_str(), "0000:3b:1f.7");
        for bad in ["", "3b:00.0", "0000:3b:00.8", "0000:3b:20.0", "0000:3b:00:0", "0000:3b:00.0 ", "00é:3b:00.0"] {
            assert!(bad.parse::<PciAddress>().is_err(), "{bad}");
        }
    }
}
