//! The names of pods that one entry of `spec.attachments` is for.

use super::limits::RANGE_PODS_MAX;
use super::names::{InvalidName, POD_NAME_MAX, PodName};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Pattern of a range of ordinals behind the name of a StatefulSet, for the CRD.
pub const ORDINALS_PATTERN: &str = "-[{](0|[1-9][0-9]{0,3})[.][.](0|[1-9][0-9]{0,3})[}]";

/// One pod, `db-0`, or pods of a StatefulSet, `db-{0..99}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PodNames {
    /// The name of the pod, or what precedes the ordinals.
    base: String,
    range: Option<Ordinals>,
}

/// Ordinals of the pods of a StatefulSet, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Ordinals {
    first: u32,
    last: u32,
}

impl PodNames {
    /// How many pods there are before this one; none if it is not one of them.
    pub fn place_of(&self, pod: &str) -> Option<u32> {
        let Some(Ordinals { first, last }) = self.range else { return (pod == self.base).then_some(0) };
        let ordinal = ordinal(pod.strip_prefix(self.base.as_str())?)?;
        (first <= ordinal && ordinal <= last).then(|| ordinal - first)
    }

    /// How many pods there are after the first.
    pub fn last_place(&self) -> u32 {
        self.range.map_or(0, |range| range.last - range.first)
    }

    /// Whether a pod is one of both.
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self.range, other.range) {
            (Some(one), Some(two)) => self.base == other.base && one.first <= two.last && two.first <= one.last,
            (None, _) => other.place_of(&self.base).is_some(),
            (_, None) => self.place_of(&other.base).is_some(),
        }
    }
}

/// The ordinal of a pod, as a StatefulSet writes it.
fn ordinal(text: &str) -> Option<u32> {
    let is_written_so = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    is_written_so.then(|| text.parse().ok()).flatten()
}

fn range(ordinals: &str) -> Option<Ordinals> {
    let (first, last) = ordinals.strip_suffix('}')?.split_once("..")?;
    let (first, last) = (ordinal(first)?, ordinal(last)?);
    let is_range = first <= last && last < 10_000 && last - first < RANGE_PODS_MAX;
    is_range.then_some(Ordinals { first, last })
}

impl FromStr for PodNames {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let Some((base, ordinals)) = text.split_once('{') else {
            return Ok(PodName::try_from(text.to_owned())?.into());
        };
        let invalid = || InvalidName::PodRange(text.to_owned());
        let set = base.strip_suffix('-').ok_or_else(invalid)?;
        let is_name = text.len() <= POD_NAME_MAX && PodName::try_from(set.to_owned()).is_ok();
        let range = range(ordinals).filter(|_| is_name).ok_or_else(invalid)?;
        Ok(Self { base: base.to_owned(), range: Some(range) })
    }
}

impl From<PodName> for PodNames {
    fn from(pod: PodName) -> Self {
        Self { base: pod.into(), range: None }
    }
}

impl TryFrom<String> for PodNames {
    type Error = InvalidName;
    fn try_from(text: String) -> Result<Self, InvalidName> {
        text.parse()
    }
}

impl From<PodNames> for String {
    fn from(pods: PodNames) -> Self {
        pods.to_string()
    }
}

impl fmt::Display for PodNames {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.base)?;
        let Some(Ordinals { first, last }) = self.range else { return Ok(()) };
        write!(formatter, "{{{first}..{last}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods(text: &str) -> PodNames {
        text.parse().unwrap()
    }

    #[test]
    fn a_range_has_the_pods_of_a_stateful_set_and_a_name_has_one() {
        let range = pods("db-{8..107}");
        assert_eq!((range.to_string().as_str(), range.last_place()), ("db-{8..107}", 99));
        let place = |pod: &str| range.place_of(pod);
        assert_eq!([place("db-8"), place("db-10"), place("db-107")], [Some(0), Some(2), Some(99)]);
        for other in ["db-7", "db-108", "db-08", "db-", "db-8a", "db-+8", "xdb-8", "db", "db-{8..107}", "db-4294967304"]
        {
            assert_eq!(place(other), None, "{other}");
        }
        let one = pods("a.b-0");
        assert_eq!((one.place_of("a.b-0"), one.place_of("a.b-1"), one.last_place()), (Some(0), None, 0));
    }

    #[test]
    fn what_no_stateful_set_names_is_rejected() {
        for good in ["db-{0..0}", "db-{0..999}", "db-{9000..9999}", "a.b-c-{1..2}"] {
            assert_eq!(pods(good).to_string(), good);
        }
        for bad in [
            "db{0..9}",
            "-{0..9}",
            "db-{9..0}",
            "db-{0..1000}",
            "db-{9999..10000}",
            "db-{00..9}",
            "db-{0..}",
            "db-{0..9",
            "db-{0-9}",
            "db-{0..9}x",
            "Db-{0..9}",
            "db-{0..9}{0..9}",
            "db--{0..9}-",
            "",
        ] {
            assert!(bad.parse::<PodNames>().is_err(), "{bad}");
        }
        let long = "a".repeat(POD_NAME_MAX - "-{0..9}".len());
        assert!(format!("{long}-{{0..9}}").parse::<PodNames>().is_ok());
        assert!(format!("a{long}-{{0..9}}").parse::<PodNames>().is_err());
    }

    #[test]
    fn ranges_and_names_overlap_if_a_pod_is_in_both() {
        for (one, two, overlap) in [
            ("db-{0..9}", "db-{9..20}", true),
            ("db-{0..9}", "db-{10..20}", false),
            ("db-{0..9}", "web-{0..9}", false),
            ("db-{0..9}", "db-9", true),
            ("db-{0..9}", "db-10", false),
            ("db-0", "db-0", true),
            ("db-0", "db-1", false),
        ] {
            let (one, two) = (pods(one), pods(two));
            assert_eq!([one.overlaps(&two), two.overlaps(&one)], [overlap; 2], "{one} {two}");
        }
    }
}
