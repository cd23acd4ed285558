//! Why a network cannot have what it requests, because of another network or of an uplink.

use crate::cache::objects::Network;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::conditions::message::network as message;

/// Why a network cannot have what it requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The reason of the condition.
    pub reason: &'static str,
    /// The message of the condition.
    pub message: String,
    /// Whether the network that has it is being deleted: this one only has to wait.
    pub will_end: bool,
}

impl Conflict {
    /// A conflict that stays until a user acts.
    pub(super) const fn new(reason: &'static str, message: String) -> Self {
        Self { reason, message, will_end: false }
    }

    /// A conflict with `holder`, which may be gone while nodes still carry it.
    pub(super) fn taken(
        reason: &'static str,
        message: &str,
        holder: &str,
        networks: &BTreeMap<String, Network>,
    ) -> Self {
        if networks.get(holder).is_some_and(|network| !network.is_deleting()) {
            return Self::new(reason, message.to_owned());
        }
        Self { reason, message: format!("{message}{}", message::waits_for(holder)), will_end: true }
    }
}

/// The conflicts of all networks, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conflicts(BTreeMap<String, Conflict>);

impl Conflicts {
    pub(super) fn insert(&mut self, network: &str, conflict: Conflict) {
        self.0.insert(network.to_owned(), conflict);
    }

    /// Why this network cannot have what it requests; none if it can, or requests nothing.
    pub fn conflict(&self, network: &str) -> Option<&Conflict> {
        self.0.get(network)
    }

    pub(super) fn has_reason(&self, reason: &str) -> bool {
        self.0.values().any(|conflict| conflict.reason == reason)
    }

    /// The networks whose conflicts differ.
    pub fn changed_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a String> {
        changed_keys(&self.0, &before.0)
    }
}

/// The keys whose values differ.
pub(super) fn changed_keys<'a, V: PartialEq>(
    now: &'a BTreeMap<String, V>,
    before: &'a BTreeMap<String, V>,
) -> impl Iterator<Item = &'a String> {
    let keys: BTreeSet<&String> = now.keys().chain(before.keys()).collect();
    keys.into_iter().filter(|key| now.get(*key) != before.get(*key))
}
