//! An interface with its counters.

use std::collections::BTreeMap;

/// An interface with some of its statistics.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InterfaceStatistics {
    /// Unique.
    pub name: String,
    /// The column `type`.
    pub interface_type: String,
    /// The wanted keys of `status`.
    pub status: BTreeMap<String, String>,
    /// The wanted keys of `statistics`. A counter that the switch does not have is not there.
    pub statistics: BTreeMap<String, u64>,
}
