//! Rights that roles give, against rights that programs used by the audit log of a world: a role should have all that is needed and nothing else.

mod roles;
mod usage;

use std::collections::BTreeSet;
use std::fmt;

pub use roles::{RolesError, grants};
pub use usage::{Usage, UsageError, usage};

/// The namespace that `config/default` puts service accounts and roles in.
pub const NAMESPACE: &str = "usnet-system";

/// What may be asked of which resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// The service account, without its namespace.
    pub account: String,
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource, with its subresource as `resource/subresource`.
    pub resource: String,
    /// The verb.
    pub verb: String,
    /// The only namespace that it is about; none for all, and for resources without namespace.
    pub namespace: Option<String>,
    /// The only object that it is about; none for all.
    pub name: Option<String>,
}

impl Right {
    /// Whether this right, as a role gives it, allows what `used` says was done.
    fn covers(&self, used: &Self) -> bool {
        let is_same = |given: &Option<String>, asked: &Option<String>| given.is_none() || given == asked;
        let what = |right: &Self| [&right.account, &right.group, &right.resource, &right.verb].map(String::clone);
        what(self) == what(used) && is_same(&self.namespace, &used.namespace) && is_same(&self.name, &used.name)
    }
}

impl fmt::Display for Right {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { account, verb, resource, .. } = self;
        write!(formatter, "{account}: {verb} {resource}")?;
        if !self.group.is_empty() {
            write!(formatter, ".{}", self.group)?;
        }
        if let Some(name) = &self.name {
            write!(formatter, " {name}")?;
        }
        self.namespace.iter().try_for_each(|namespace| write!(formatter, " in {namespace}"))
    }
}

/// How roles and usage differ. Empty when each right was used and nothing else was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Given and never used.
    pub unused: BTreeSet<Right>,
    /// Asked for, refused, and given by no role.
    pub missing: BTreeSet<Right>,
}

/// Compares what roles give with what was done. A right that a role gives is refused all the same while that role is deleted, and by an API server that has
/// just started and not read its roles yet.
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
