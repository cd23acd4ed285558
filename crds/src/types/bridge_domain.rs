//! Bridge domains of VPP, which have numbers where bridges of Open vSwitch have names.

use super::names::fnv1a;
use super::names::{BridgeName, NetworkName};
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "bridge domain id {0} is out of range: use {min} to {max}",
    min = BridgeDomainId::MINIMUM,
    max = BridgeDomainId::MAXIMUM
)]
pub struct InvalidBridgeDomainId(String);

/// The number of a bridge domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct BridgeDomainId(u32);

impl BridgeDomainId {
    /// The smallest; VPP reserves 0.
    pub const MINIMUM: u32 = 1;
    /// The largest: bridge domain ids have 24 bits.
    pub const MAXIMUM: u32 = 0xff_ffff;
    /// The first id that usnet chooses. Users choose small ones.
    const FIRST_CHOSEN: u32 = 0x80_0000;

    pub const fn get(self) -> u32 {
        self.0
    }

    /// The default bridge domain of a network: derived from its name, so that it is the same on
    /// every node and across restarts of VPP, without any state. Among a thousand networks two may
    /// get the same one; the younger reports a conflict.
    pub fn default_for(network: &NetworkName) -> Self {
        let chosen = fnv1a(network.as_str().as_bytes()) & u64::from(Self::FIRST_CHOSEN - 1);
        // The mask leaves 23 bits.
        Self(Self::FIRST_CHOSEN | u32::try_from(chosen).unwrap_or_default())
    }
}

impl TryFrom<i64> for BridgeDomainId {
    type Error = InvalidBridgeDomainId;
    fn try_from(number: i64) -> Result<Self, InvalidBridgeDomainId> {
        let invalid = || InvalidBridgeDomainId(number.to_string());
        let id = u32::try_from(number).map_err(|_| invalid())?;
        if (Self::MINIMUM..=Self::MAXIMUM).contains(&id) { Ok(Self(id)) } else { Err(invalid()) }
    }
}

impl TryFrom<&BridgeName> for BridgeDomainId {
    type Error = InvalidBridgeDomainId;
    /// A bridge of VPP is named by the digits of its number.
    fn try_from(name: &BridgeName) -> Result<Self, InvalidBridgeDomainId> {
        let number: i64 = name.as_str().parse().map_err(|_| InvalidBridgeDomainId(name.to_string()))?;
        number.try_into()
    }
}

impl From<BridgeDomainId> for BridgeName {
    fn from(id: BridgeDomainId) -> Self {
        Self::of_id(id.0)
    }
}

impl From<BridgeDomainId> for i64 {
    fn from(id: BridgeDomainId) -> Self {
        Self::from(id.0)
    }
}

impl fmt::Display for BridgeDomainId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_that_vpp_takes() {
        assert!(BridgeDomainId::try_from(1).is_ok() && BridgeDomainId::try_from(0xff_ffff).is_ok());
        for bad in [0, -1, 0x100_0000, 1 << 32] {
            assert!(BridgeDomainId::try_from(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_chosen_id_is_stable_and_above_those_that_users_choose() {
        let id = |network: &str| BridgeDomainId::default_for(&network.parse().unwrap());
        assert_eq!(id("blue"), id("blue"));
        assert_ne!(id("blue"), id("red"));
        assert!((0x80_0000..=0xff_ffff).contains(&id("blue").get()));
    }

    #[test]
    fn a_bridge_name_is_the_number_in_digits() {
        let id = BridgeDomainId::try_from(4).unwrap();
        assert_eq!(BridgeDomainId::try_from(&BridgeName::from(id)), Ok(id));
        assert!(BridgeDomainId::try_from(&"br-blue".parse::<BridgeName>().unwrap()).is_err());
    }
}
