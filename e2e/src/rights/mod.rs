//! Compares the rights that roles grant with those that programs used, by the audit log of a test
//! bed: roles should grant what is needed and nothing else.

mod right;
mod roles;
mod usage;

use std::collections::BTreeSet;

pub use right::{NAMESPACE, Right};
pub use roles::{RolesError, grants};
pub use usage::{Usage, UsageError, usage};

/// The differences between roles and usage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// The rights that were granted and not used.
    pub unused: BTreeSet<Right>,
    /// The rights that were refused and that no role grants.
    pub missing: BTreeSet<Right>,
}

/// Compares grants with usage. A refused right that a role grants is not missing: it is also
/// refused while that role is deleted, and by an API server that has just started and not read the
/// roles yet.
#[must_use]
pub fn compare(grants: &BTreeSet<Right>, usage: &Usage) -> Differences {
    let is_unused = |grant: &&Right| !usage.allowed.iter().any(|used| grant.covers(used));
    let is_missing = |asked: &&Right| !grants.iter().any(|grant| grant.covers(asked));
    Differences {
        unused: grants.iter().filter(is_unused).cloned().collect(),
        missing: usage.refused.iter().filter(is_missing).cloned().collect(),
    }
}

#[cfg(test)]
mod tests;
