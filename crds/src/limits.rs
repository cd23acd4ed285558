//! Numbers that cannot be wrong, and the limits that the CRD and Rust share.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a number was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {value} is out of range: use {minimum} to {maximum}")]
pub struct OutOfRange {
    what: &'static str,
    value: i64,
    minimum: u16,
    maximum: u16,
}

macro_rules! number {
    ($(#[$docs:meta])* $name:ident, $what:literal, $minimum:literal, $maximum:literal) => {
        $(#[$docs])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "i64", into = "i64")]
        pub struct $name(u16);

        impl $name {
            /// The smallest value.
            pub const MINIMUM: u16 = $minimum;
            /// The largest value.
            pub const MAXIMUM: u16 = $maximum;

            /// The number itself.
            pub const fn get(self) -> u16 {
                self.0
            }
        }

        impl TryFrom<i64> for $name {
            type Error = OutOfRange;
            fn try_from(value: i64) -> Result<Self, OutOfRange> {
                match u16::try_from(value) {
                    Ok(number) if (Self::MINIMUM..=Self::MAXIMUM).contains(&number) => Ok(Self(number)),
                    _ => Err(OutOfRange { what: $what, value, minimum: $minimum, maximum: $maximum }),
                }
            }
        }

        impl From<$name> for i64 {
            fn from(number: $name) -> Self {
                Self::from(number.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    };
}

number!(
    /// Largest payload of a frame, in bytes. 9702 is what DPDK's ports carry in Open vSwitch; it ignores a larger request without a word.
    Mtu, "MTU", 576, 9702
);
number!(
    /// The id of a VLAN (IEEE 802.1Q), without the two reserved ones.
    VlanTag, "VLAN tag", 1, 4094
);
number!(
    /// Queue pairs of one port. A vhost-user port takes at most 128.
    Queues, "number of queues", 1, 128
);

impl Default for Mtu {
    fn default() -> Self {
        Self(1500)
    }
}

impl Default for Queues {
    fn default() -> Self {
        Self(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_at_both_ends() {
        assert_eq!(Mtu::try_from(576).map(Mtu::get), Ok(576));
        assert_eq!(Mtu::try_from(9702).map(Mtu::get), Ok(9702));
        assert!(Mtu::try_from(575).is_err() && Mtu::try_from(9703).is_err());
        assert!(VlanTag::try_from(0).is_err() && VlanTag::try_from(4095).is_err() && VlanTag::try_from(4094).is_ok());
    }

    #[test]
    fn a_number_that_would_wrap_is_refused_by_name() {
        let refused = VlanTag::try_from(65_536 + 7).unwrap_err();
        assert_eq!(refused.to_string(), "VLAN tag 65543 is out of range: use 1 to 4094");
    }
}
