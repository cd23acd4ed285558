//! The lifecycle stage of a network.

use crate::controller::cache::Network;
use usnet_crds::conditions::reason;

/// The lifecycle stage of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage<'a> {
    /// It has no finalizer yet, which is set before anything else.
    New,
    /// It is rolled out to nodes and namespaces.
    Active,
    /// Its spec is invalid: the last valid one stays in effect.
    Rejected {
        /// The reason of the condition.
        reason: &'static str,
        /// The message of the condition.
        message: &'a str,
    },
    /// Its deletion was requested.
    Deleting,
}

impl<'a> Stage<'a> {
    /// Of this network.
    pub fn of(network: &'a Network) -> Self {
        match &network.spec {
            _ if network.is_deleting() => Self::Deleting,
            _ if !network.has_finalizer => Self::New,
            Ok(_) => Self::Active,
            Err(message) => Self::Rejected { reason: reason::INVALID, message },
        }
    }
}
