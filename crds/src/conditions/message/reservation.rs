//! Messages about a reservation. None names another namespace: who reads it may read that one only.

use crate::NetworkName;
use crate::types::limits::RESERVATIONS_MAX;
use std::fmt::Display;

pub const RESERVED: &str = "pods that attach get these settings";

pub fn reserving(network: &NetworkName) -> String {
    format!("network {network} is not compiled with it yet")
}

pub fn network_unknown(network: &NetworkName) -> String {
    format!("there is no UserspaceNetwork {network}: correct spec.network, or create it")
}

pub fn network_deleting(network: &NetworkName) -> String {
    format!("network {network} is being deleted: pods attach no longer")
}

pub fn not_selected(network: &NetworkName, namespace: &str) -> String {
    format!("network {network} does not select namespace {namespace}: its pods may not attach")
}

pub fn no_reservations(network: &NetworkName) -> String {
    format!("network {network} lets reservations fix nothing: spec.reservations of the network says what they may")
}

/// What two have in common: a pod, an address or a MAC address.
pub fn taken(what: &dyn Display, holder: &Holder<'_>) -> String {
    let holder = match holder {
        Holder::Network(network) => format!("spec.attachments of network {network}"),
        Holder::Reservation(name) => format!("UserspaceReservation {name}"),
        Holder::OtherNamespace => "a UserspaceReservation of another namespace".to_owned(),
    };
    format!("{what} belongs to {holder}: use another")
}

/// Who has what a reservation requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder<'a> {
    Network(&'a NetworkName),
    /// One of the same namespace.
    Reservation(&'a str),
    OtherNamespace,
}

/// No numbers: with each reservation of others, the message would change for all that wait.
pub fn namespace_has_share(network: &NetworkName, namespace: &str) -> String {
    format!(
        "namespace {namespace} has its share of the {RESERVATIONS_MAX} reservations of network {network}, half of what other namespaces leave: delete some, or use one for the pods of a StatefulSet"
    )
}

pub fn network_is_full(network: &NetworkName) -> String {
    format!("network {network} has {RESERVATIONS_MAX} reservations: it takes no more")
}
