//! An interface with its counters.

use std::collections::BTreeMap;

/// An interface with some of its statistics.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InterfaceStatistics {
    pub name: String,
    /// The column `type`.
    pub interface_type: String,
    /// The requested keys of `status`.
    pub status: BTreeMap<String, String>,
    /// The requested keys of `statistics`. Counters that the switch does not have are missing.
    pub statistics: BTreeMap<String, u64>,
}
