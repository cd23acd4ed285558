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
    /// It does.
    #[default]
    Enabled,
    /// It does not: each frame is flooded to every port.
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
    /// That of Open vSwitch. VPP needs less than 100 bytes for each.
    fn default() -> Self {
        Self(8192)
    }
}

impl MacTableSize {
    /// Not written, so that files of bridges with the default are those of earlier releases.
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Whose a network's bridge is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum Ownership {
    /// It is created, kept as the network specifies, and deleted with the network.
    #[default]
    Managed,
    /// It is not owned by usnet: ports are added to it, and nothing else of it is changed.
    Adopted,
}

/// The bridge of a network on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Bridge {
    /// Its name in the engine; with VPP the digits of the bridge domain's id.
    pub name: BridgeName,
    /// Its MTU in bytes, and that of every port on it.
    pub mtu: Mtu,
    /// Whether it learns where MAC addresses are.
    #[serde(default)]
    pub mac_learning: MacLearning,
    /// How long it remembers them, in seconds.
    #[serde(default)]
    pub mac_age_seconds: MacAge,
    /// How many it remembers at most.
    #[serde(default, skip_serializing_if = "MacTableSize::is_default")]
    pub mac_table_size: MacTableSize,
    /// Whether usnet creates and deletes it.
    #[serde(default)]
    pub ownership: Ownership,
}

impl Bridge {
    /// A bridge with the usual settings.
    pub fn named(name: BridgeName) -> Self {
        Self {
            name,
            mtu: Mtu::default(),
            mac_learning: MacLearning::default(),
            mac_age_seconds: MacAge::default(),
            mac_table_size: MacTableSize::default(),
            ownership: Ownership::default(),
        }
    }
}
