//! What pods may claim to be in the frames that they send.

use serde::{Deserialize, Serialize};

/// Which frames a pod may send.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum AntiSpoofing {
    /// Any.
    #[default]
    Off,
    /// Those from the MAC address of its interface.
    #[serde(rename = "MAC")]
    Mac,
    /// Those from the MAC and the IP addresses of its interface, also in ARP and neighbour
    /// discovery; nothing that only routers and DHCP servers send, and nothing that is neither
    /// Ethernet of IP, ARP nor RARP.
    Address,
}

impl AntiSpoofing {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "Off",
            Self::Mac => "MAC",
            Self::Address => "Address",
        }
    }

    /// The default is not written, so that files of networks without it are those of earlier
    /// releases.
    pub const fn is_off(&self) -> bool {
        matches!(self, Self::Off)
    }
}
