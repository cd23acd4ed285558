//! The lifecycle stage of a network.

use crate::cache::conflict::Conflict;
use crate::cache::{Cache, Network};
use usnet_crds::conditions::message::network::ADDRESSES_OF_CONNECTED_NODES;
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
        /// What is in the way ends by itself.
        will_end: bool,
    },
    /// Its deletion was requested.
    Deleting,
}

impl<'a> Stage<'a> {
    /// Of the network of this name.
    pub fn of(cache: &'a Cache, name: &str, network: &'a Network) -> Self {
        match &network.spec {
            _ if network.is_deleting() => Self::Deleting,
            _ if !network.has_finalizer() => Self::New,
            Ok(valid) if valid.has_ambiguous_addresses() => {
                Self::rejected(reason::ADDRESSES_NOT_UNIQUE, ADDRESSES_OF_CONNECTED_NODES)
            }
            Ok(_) => Self::conflict(cache, name).unwrap_or(Self::Active),
            Err(message) => Self::rejected(reason::INVALID, message),
        }
    }

    const fn rejected(reason: &'static str, message: &'a str) -> Self {
        Self::Rejected { reason, message, will_end: false }
    }

    /// What another network has.
    fn conflict(cache: &'a Cache, name: &str) -> Option<Self> {
        let overlay = cache.overlays.conflict(name);
        let others = || cache.routing_domains.conflict(name).or_else(|| cache.uplink_use.conflict(name));
        let Conflict { reason, message, will_end } = overlay.or_else(others)?;
        Some(Self::Rejected { reason, message, will_end: *will_end })
    }
}
