//! A right of a service account to a verb and objects.

use std::fmt;

/// The namespace of the service accounts and roles of `config/default`.
pub const NAMESPACE: &str = "usnet-system";

/// All namespaces with service accounts of usnet; no two have an account of the same name.
pub(super) const NAMESPACES: [&str; 2] = [NAMESPACE, "usnet-engines"];

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// The name of the service account.
    pub account: String,
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource, with its subresource as `resource/subresource`.
    pub resource: String,
    pub verb: String,
    /// The namespace; `None` for all namespaces and for cluster-scoped resources.
    pub namespace: Option<String>,
    /// The name of the object; `None` for all objects.
    pub name: Option<String>,
}

impl Right {
    /// Whether this right of a role allows a request that needed the right `used`.
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
