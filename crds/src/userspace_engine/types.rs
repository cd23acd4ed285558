//! Sizes of memory, and lists of CPUs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Longest size of memory, in characters.
pub const SIZE_MAX: usize = 8;
pub(super) const SIZE_PATTERN: &str = "^[1-9][0-9]{0,5}(Mi|Gi)$";
/// Longest list of CPUs, in characters.
pub const CPU_LIST_MAX: usize = 256;
pub(super) const CPU_LIST_PATTERN: &str = "^[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*$";
/// Most CPUs that Linux has.
const CPUS_MAX: usize = 8192;

/// A text is not a size of memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a size: use a whole number with Mi or Gi, such as 1Gi")]
pub struct InvalidSize(String);

/// A text is not a list of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a list of CPUs: use numbers and ranges, the smaller one first, such as 2-3,6")]
pub struct InvalidCpus(String);

/// An amount of memory: a whole number of MiB, written as Kubernetes does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemorySize(u32);

impl MemorySize {
    pub const fn from_mib(mib: u32) -> Self {
        Self(mib)
    }

    pub const fn mib(self) -> u32 {
        self.0
    }
}

impl FromStr for MemorySize {
    type Err = InvalidSize;

    fn from_str(text: &str) -> Result<Self, InvalidSize> {
        let invalid = || InvalidSize(text.to_owned());
        let (number, unit) = text.split_at_checked(text.len().saturating_sub(2)).ok_or_else(invalid)?;
        let factor = match unit {
            "Mi" => 1,
            "Gi" => 1024,
            _ => return Err(invalid()),
        };
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
        let number = number.parse::<u32>().ok().filter(|number| is_plain && *number < 1_000_000);
        number.map(|number| Self(number * factor)).ok_or_else(invalid)
    }
}

impl fmt::Display for MemorySize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            mib if mib.is_multiple_of(1024) => write!(formatter, "{}Gi", mib / 1024),
            mib => write!(formatter, "{mib}Mi"),
        }
    }
}

/// The size of a hugepage.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HugepageSize {
    /// 2 MiB.
    #[serde(rename = "2Mi")]
    Mi2,
    /// 1 GiB.
    #[serde(rename = "1Gi")]
    Gi1,
}

impl HugepageSize {
    pub const fn size(self) -> MemorySize {
        match self {
            Self::Mi2 => MemorySize(2),
            Self::Gi1 => MemorySize(1024),
        }
    }
}

impl fmt::Display for HugepageSize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.size().fmt(formatter)
    }
}

/// Numbers of CPUs, at least one, in the form of the kernel's lists: `2-3,6`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuList(BTreeSet<u16>);

impl CpuList {
    pub const fn cpus(&self) -> &BTreeSet<u16> {
        &self.0
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&ranges(&self.0))
    }
}

/// CPUs in the form of the kernel's lists, `0-3,6`; empty without any.
pub fn ranges(cpus: &BTreeSet<u16>) -> String {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*cpu) => *last = *cpu,
            _ => ranges.push((*cpu, *cpu)),
        }
    }
    let text = |(first, last): &(u16, u16)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}

impl FromStr for CpuList {
    type Err = InvalidCpus;

    fn from_str(text: &str) -> Result<Self, InvalidCpus> {
        let invalid = || InvalidCpus(text.to_owned());
        let number = |text: &str| {
            let number = text.parse::<u16>().ok().filter(|number| usize::from(*number) < CPUS_MAX);
            number.filter(|_| text.bytes().all(|byte| byte.is_ascii_digit())).ok_or_else(invalid)
        };
        let mut cpus = BTreeSet::new();
        for range in text.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return Err(invalid());
            }
            cpus.extend(first..=last);
        }
        Ok(Self(cpus))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_numbers_of_mebibytes() {
        for (text, mib) in [("1Gi", 1024), ("512Mi", 512), ("1536Mi", 1536)] {
            let size: MemorySize = text.parse().unwrap();
            assert_eq!((size.mib(), size.to_string().as_str()), (mib, text));
        }
        assert_eq!("2048Mi".parse::<MemorySize>().unwrap().to_string(), "2Gi");
        for text in ["", "1", "Gi", "0Gi", "-1Gi", "+1Gi", "1G", "1.5Gi", "1000000Mi", "1Ki", "1 Gi", "é1"] {
            assert!(text.parse::<MemorySize>().is_err(), "{text}");
        }
    }

    #[test]
    fn lists_of_cpus_are_those_of_the_kernel() {
        let list: CpuList = "2-3,6,3".parse().unwrap();
        assert_eq!(list.cpus().iter().copied().collect::<Vec<_>>(), [2, 3, 6]);
        assert_eq!((list.to_string().as_str(), ranges(&BTreeSet::new()).as_str()), ("2-3,6", ""));
        for text in ["", "-", "3-2", "1,", "a", "+1", "8192", "1-2-3", "1 - 2"] {
            assert!(text.parse::<CpuList>().is_err(), "{text}");
        }
    }
}
