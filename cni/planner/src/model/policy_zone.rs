//! The zones of tracked connections. All bridges of a switch share them, so that the policies of
//! each network need one of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

/// The zone in which the connections of a network with policies are tracked. Zone 0 is that of
/// frames that name none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyZone(NonZeroU16);

/// A text is not the number of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the number of a zone: it must be 1 to {}", u16::MAX)]
pub struct InvalidZone;

impl PolicyZone {
    /// The first one that a network gets: others who track connections usually begin with 1.
    pub const FIRST: Self = Self(NonZeroU16::MAX);

    pub const fn number(self) -> u16 {
        self.0.get()
    }

    /// All zones, in the order in which networks get them.
    fn all() -> impl Iterator<Item = Self> {
        (1..=u16::MAX).rev().filter_map(NonZeroU16::new).map(Self)
    }
}

impl fmt::Display for PolicyZone {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for PolicyZone {
    type Err = InvalidZone;

    fn from_str(text: &str) -> Result<Self, InvalidZone> {
        let zone = text.parse().map(Self).map_err(|_| InvalidZone)?;
        // There is one form of each zone in a tag.
        if zone.to_string() == text { Ok(zone) } else { Err(InvalidZone) }
    }
}

/// The zones of an engine's bridges, and those that a plan gives to others.
#[derive(Debug, Default)]
pub(crate) struct PolicyZones {
    /// The bridges that keep their zone, with it.
    kept: BTreeMap<String, PolicyZone>,
    taken: BTreeSet<PolicyZone>,
}

impl PolicyZones {
    /// The zones that bridges have. Of several with the same zone none keeps it: one of them may be
    /// of a network that this node does not change.
    pub(crate) fn of<'a>(bridges: impl IntoIterator<Item = (&'a str, PolicyZone)>) -> Self {
        let mut zones = Self::default();
        for (bridge, zone) in bridges {
            if zones.taken.insert(zone) {
                zones.kept.insert(bridge.to_owned(), zone);
            } else {
                zones.kept.retain(|_, kept| *kept != zone);
            }
        }
        zones
    }

    /// The zone that a bridge keeps or gets.
    pub(crate) fn assign(&mut self, bridge: &str) -> PolicyZone {
        if let Some(kept) = self.kept.get(bridge) {
            return *kept;
        }
        // There are fewer bridges than zones: a switch has 65,279 ports.
        let zone = PolicyZone::all().find(|zone| !self.taken.contains(zone)).unwrap_or(PolicyZone::FIRST);
        self.taken.insert(zone);
        self.kept.insert(bridge.to_owned(), zone);
        zone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(text: &str) -> PolicyZone {
        text.parse().unwrap()
    }

    #[test]
    fn a_zone_is_a_number_in_one_form() {
        assert_eq!((zone("1").number(), zone("65535")), (1, PolicyZone::FIRST));
        for text in ["0", "65536", "-1", "+7", "007", " 7", "", "x"] {
            assert_eq!(text.parse::<PolicyZone>(), Err(InvalidZone), "{text:?}");
        }
    }

    #[test]
    fn bridges_keep_their_zones_and_others_get_free_ones() {
        let mut zones = PolicyZones::of([("a", zone("65534")), ("b", zone("65534")), ("c", zone("7"))]);
        assert_eq!(zones.assign("b"), zone("65535"));
        assert_eq!(zones.assign("d"), zone("65533"));
        assert_eq!(["a", "c", "d", "b"].map(|bridge| zones.assign(bridge).number()), [65532, 7, 65533, 65535]);
    }
}
