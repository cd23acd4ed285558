//! Rights that roles give, against rights that programs used by the audit log of a test bed: a role
//! should have all that is needed and nothing else.

mod right;
mod roles;
mod usage;

use std::collections::BTreeSet;

pub use right::{NAMESPACE, Right};
pub use roles::{RolesError, grants};
pub use usage::{Usage, UsageError, usage};

/// How roles and usage differ. Empty when each right was used and nothing else was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Given and never used.
    pub unused: BTreeSet<Right>,
    /// Asked for, refused, and given by no role.
    pub missing: BTreeSet<Right>,
}

/// Compares what roles give with what was done. A right that a role gives is refused all the same
/// while that role is deleted, and by an API server that has just started and not read its roles
/// yet.
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
