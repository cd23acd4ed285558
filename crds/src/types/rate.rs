//! Rate limits of ports, from the perspective of the pod like the bandwidth annotations of
//! Kubernetes: ingress is what the pod receives.

use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "rate {0} is out of range: use {minimum} to {maximum} kilobits per second",
    minimum = KilobitsPerSecond::MINIMUM,
    maximum = KilobitsPerSecond::MAXIMUM
)]
pub struct InvalidRate(i64);

/// A rate in thousands of bits per second, more than none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct KilobitsPerSecond(u32);

impl KilobitsPerSecond {
    pub const MINIMUM: u32 = 1;
    /// The largest is a terabit, which is small enough for every engine's counters.
    pub const MAXIMUM: u32 = 1_000_000_000;
    /// Two of the longest frames that a port may have, so that no frame is too long for its limit.
    const BURST_MINIMUM_KILOBITS: u32 = 160;

    pub const fn get(self) -> u32 {
        self.0
    }

    /// The burst in kilobits (1000 bits): what the rate gives in a tenth of a second. Less would
    /// slow TCP down.
    pub const fn burst_kilobits(self) -> u32 {
        let tenth = self.0 / 10;
        if tenth > Self::BURST_MINIMUM_KILOBITS { tenth } else { Self::BURST_MINIMUM_KILOBITS }
    }
}

#[cfg(feature = "api")]
super::number::number_schema!(KilobitsPerSecond);

impl TryFrom<i64> for KilobitsPerSecond {
    type Error = InvalidRate;
    fn try_from(rate: i64) -> Result<Self, InvalidRate> {
        match u32::try_from(rate) {
            Ok(kilobits) if (Self::MINIMUM..=Self::MAXIMUM).contains(&kilobits) => Ok(Self(kilobits)),
            _ => Err(InvalidRate(rate)),
        }
    }
}

impl From<KilobitsPerSecond> for i64 {
    fn from(rate: KilobitsPerSecond) -> Self {
        rate.0.into()
    }
}

impl fmt::Display for KilobitsPerSecond {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} kbit/s", self.0)
    }
}

/// The limits of a port; none in a direction means that the engine limits nothing there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RateLimit {
    /// What the pod receives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress_kbps: Option<KilobitsPerSecond>,
    /// What the pod sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub egress_kbps: Option<KilobitsPerSecond>,
}

impl RateLimit {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The lower limit in each direction.
    pub fn at_most(self, other: Self) -> Self {
        let lower = |one: Option<KilobitsPerSecond>, other| one.into_iter().chain(other).min();
        Self {
            ingress_kbps: lower(self.ingress_kbps, other.ingress_kbps),
            egress_kbps: lower(self.egress_kbps, other.egress_kbps),
        }
    }
}

impl fmt::Display for RateLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.ingress_kbps, self.egress_kbps) {
            (None, None) => formatter.write_str("no rate limit"),
            (Some(ingress), None) => write!(formatter, "a limit of {ingress} to the pod"),
            (None, Some(egress)) => write!(formatter, "a limit of {egress} from the pod"),
            (Some(ingress), Some(egress)) => write!(formatter, "limits of {ingress} to and {egress} from the pod"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(kilobits: i64) -> KilobitsPerSecond {
        kilobits.try_into().unwrap()
    }

    #[test]
    fn rates_hold_at_both_ends_and_do_not_wrap() {
        assert_eq!((rate(1).get(), rate(1_000_000_000).get()), (1, 1_000_000_000));
        for bad in [0, -1, 1_000_000_001, (1 << 32) + 5] {
            assert!(KilobitsPerSecond::try_from(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_lower_limit_counts_and_none_is_the_highest() {
        let limit = |ingress: Option<i64>, egress: Option<i64>| RateLimit {
            ingress_kbps: ingress.map(rate),
            egress_kbps: egress.map(rate),
        };
        assert_eq!(limit(Some(5), None).at_most(limit(Some(7), Some(2))), limit(Some(5), Some(2)));
        assert_eq!(limit(Some(5), Some(3)).at_most(limit(Some(4), None)), limit(Some(4), Some(3)));
        assert!(limit(None, None).at_most(RateLimit::default()).is_none());
    }

    #[test]
    fn a_burst_holds_the_longest_frame_and_grows_with_the_rate() {
        assert!(rate(1).burst_kilobits() * 1000 / 8 >= 2 * (u32::from(crate::Mtu::MAXIMUM) + 22));
        assert_eq!(rate(1_000_000).burst_kilobits(), 100_000);
    }
}
