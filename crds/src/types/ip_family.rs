//! The two families of IP addresses.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// A family of IP addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum IpFamily {
    #[default]
    #[serde(rename = "IPv4")]
    V4,
    #[serde(rename = "IPv6")]
    V6,
}

impl IpFamily {
    pub const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    pub fn contains(self, address: IpAddr) -> bool {
        Self::of(address) == self
    }

    /// The bytes that VXLAN over this family adds to a frame.
    pub const fn vxlan_overhead(self) -> u16 {
        match self {
            Self::V4 => 50,
            Self::V6 => 70,
        }
    }
}

impl fmt::Display for IpFamily {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}
