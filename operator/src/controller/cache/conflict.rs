//! What a network cannot have, because of another network or of an uplink.

use super::objects::Network;
use std::collections::BTreeMap;
use usnet_crds::conditions::message::network as message;

/// Why a network cannot have what it requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The reason of the condition.
    pub reason: &'static str,
    /// The message of the condition.
    pub message: String,
    /// The network that has it is being deleted: this one only has to wait.
    pub will_end: bool,
}

impl Conflict {
    /// It stays until a user acts.
    pub(super) const fn new(reason: &'static str, message: String) -> Self {
        Self { reason, message, will_end: false }
    }

    /// Another network has it, which may be gone with nodes still carrying it.
    pub(super) fn taken(
        reason: &'static str,
        message: &str,
        (holder, networks): (&str, &BTreeMap<String, Network>),
    ) -> Self {
        if networks.get(holder).is_some_and(|network| !network.is_deleting()) {
            return Self::new(reason, message.to_owned());
        }
        Self { reason, message: format!("{message}{}", message::waits_for(holder)), will_end: true }
    }
}
