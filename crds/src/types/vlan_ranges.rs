//! Sets of VLANs, written as ranges.

use super::limits::VlanTag;
use super::number::OutOfRange;
use std::fmt;
use std::str::FromStr;

/// Most ranges of one set.
pub const VLAN_RANGES_MAX: usize = 128;
/// Longest text of a range, in bytes.
pub const VLAN_RANGE_MAX: usize = 9;
/// Pattern of a range for the CRD.
pub const VLAN_RANGE_PATTERN: &str = "^[1-9][0-9]{0,3}(-[1-9][0-9]{0,3})?$";

/// Why a range of VLANs was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidVlanRange {
    #[error("{0:?} is not a range of VLANs: write it as 100-199, or one VLAN as 100")]
    Form(String),
    #[error(transparent)]
    Vlan(#[from] OutOfRange),
    #[error("the range of VLANs {first}-{last} ends before it begins: write the smaller one first")]
    Backwards { first: VlanTag, last: VlanTag },
}

/// Consecutive VLANs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VlanRange {
    first: VlanTag,
    last: VlanTag,
}

impl VlanRange {
    const fn contains(self, vlan: VlanTag) -> bool {
        self.first.get() <= vlan.get() && vlan.get() <= self.last.get()
    }
}

impl FromStr for VlanRange {
    type Err = InvalidVlanRange;
    fn from_str(text: &str) -> Result<Self, InvalidVlanRange> {
        let vlan = |part: &str| {
            let is_number = (1..=4).contains(&part.len())
                && !part.starts_with('0')
                && part.bytes().all(|byte| byte.is_ascii_digit());
            let number = part.parse().ok().filter(|_| is_number);
            let number: i64 = number.ok_or_else(|| InvalidVlanRange::Form(text.to_owned()))?;
            Ok::<_, InvalidVlanRange>(VlanTag::try_from(number)?)
        };
        let (first, last) = match text.split_once('-') {
            Some((first, last)) => (vlan(first)?, vlan(last)?),
            None => (vlan(text)?, vlan(text)?),
        };
        if first <= last { Ok(Self { first, last }) } else { Err(InvalidVlanRange::Backwards { first, last }) }
    }
}

impl fmt::Display for VlanRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { first, last } if first == last => first.fmt(formatter),
            Self { first, last } => write!(formatter, "{first}-{last}"),
        }
    }
}

/// A set of VLANs. Ranges may overlap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VlanRanges(Vec<VlanRange>);

impl VlanRanges {
    pub fn contains(&self, vlan: VlanTag) -> bool {
        self.0.iter().any(|range| range.contains(vlan))
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<VlanRange> for VlanRanges {
    fn from_iter<I: IntoIterator<Item = VlanRange>>(ranges: I) -> Self {
        let mut sorted: Vec<VlanRange> = ranges.into_iter().collect();
        sorted.sort_unstable();
        Self(sorted)
    }
}

impl fmt::Display for VlanRanges {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        formatter.write_str(&ranges.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vlan(number: i64) -> VlanTag {
        VlanTag::try_from(number).unwrap()
    }

    #[test]
    fn a_range_is_one_vlan_or_two_in_order() {
        for good in ["1", "4094", "100-199", "7-7"] {
            assert!(good.parse::<VlanRange>().is_ok(), "{good}");
        }
        for bad in ["", "0", "4095", "1-", "-1", "1-2-3", "2-1", "1 - 2", "+1", "01", "1-4095", "65537"] {
            assert!(bad.parse::<VlanRange>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_set_has_both_ends_of_its_ranges_and_is_written_sorted() {
        let set: VlanRanges = ["300", "100-199"].map(|range| range.parse().unwrap()).into_iter().collect();
        assert!([100, 142, 199, 300].into_iter().all(|number| set.contains(vlan(number))));
        assert!(![1, 99, 200, 301].into_iter().any(|number| set.contains(vlan(number))));
        assert_eq!(set.to_string(), "100-199, 300");
        assert!(VlanRanges::default().is_empty() && !VlanRanges::default().contains(vlan(1)));
    }
}
