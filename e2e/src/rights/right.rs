//! One right: who may do what with which objects.

use std::fmt;

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
    pub(super) fn covers(&self, used: &Self) -> bool {
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
