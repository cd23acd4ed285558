//! The bridge of a network on each node: what users write and its rules in CEL and in Rust
//! (`spec`), and what nodes read ([`Bridge`]).

#[cfg(feature = "api")]
pub(super) mod spec;

use crate::types::limits::Mtu;
use crate::types::names::BridgeName;
use crate::types::number::number;
use serde::{Deserialize, Serialize};

/// Whether a bridge learns where MAC addresses are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum MacLearning {
    /// The bridge learns.
    #[default]
    Enabled,
    /// The bridge learns nothing: each frame is flooded to every port.
    Disabled,
}

number!(
    /// How long a bridge remembers where a MAC address is, in seconds. Open vSwitch takes 15 to
    /// 3600; VPP counts whole minutes, up to 255.
    MacAge, "age of MAC addresses", 15, 15_300
);

impl Default for MacAge {
    fn default() -> Self {
        Self(300)
    }
}

number!(
    /// How many MAC addresses a bridge remembers at most. Both engines take the whole range.
    MacTableSize: u32, "size of the MAC table", 16, 1_000_000
);

impl Default for MacTableSize {
    /// The default of Open vSwitch. VPP needs less than 100 bytes for each address.
    fn default() -> Self {
        Self(8192)
    }
}

impl MacTableSize {
    /// The default is not written, so that files of bridges with it are those of earlier releases.
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Who owns the bridge of a network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum Ownership {
    /// usnet creates the bridge, keeps it as the network specifies, and deletes it with the
    /// network.
    #[default]
    Managed,
    /// usnet does not own the bridge: it adds ports, and changes nothing else of it.
    Adopted,
}

/// The bridge of a network on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Bridge {
    /// The name of the bridge in the engine; with VPP the digits of the bridge domain's id.
    pub name: BridgeName,
    /// The MTU of the bridge in bytes, and that of every port on it.
    pub mtu: Mtu,
    /// Whether the bridge learns where MAC addresses are.
    #[serde(default)]
    pub mac_learning: MacLearning,
    /// How long the bridge remembers MAC addresses, in seconds.
    #[serde(default)]
    pub mac_age_seconds: MacAge,
    /// How many MAC addresses the bridge remembers at most.
    #[serde(default, skip_serializing_if = "MacTableSize::is_default")]
    pub mac_table_size: MacTableSize,
    /// Whether usnet creates and deletes the bridge.
    #[serde(default)]
    pub ownership: Ownership,
    /// Whether the bridge forwards nothing but what its ports are allowed to send.
    #[serde(rename = "guarded", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_guarded: bool,
}

impl Bridge {
    /// A bridge with default settings.
    pub fn named(name: BridgeName) -> Self {
        Self {
            name,
            mtu: Mtu::default(),
            mac_learning: MacLearning::default(),
            mac_age_seconds: MacAge::default(),
            mac_table_size: MacTableSize::default(),
            ownership: Ownership::default(),
            is_guarded: false,
        }
    }
}
