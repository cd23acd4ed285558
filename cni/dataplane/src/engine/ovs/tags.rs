//! Ownership tags in Open vSwitch: keys in `external_ids` of bridges and ports.

use crate::model::owner::{Owner, PortOwner};
use std::collections::BTreeMap;
use usnet_crds::NetworkName;
use usnet_ovsdb::{Condition, Value};

/// On bridges and ports: the network.
pub const NETWORK_KEY: &str = "usnet.dev/network";
/// On ports: the attachment.
pub const ATTACHMENT_KEY: &str = "usnet.dev/attachment";

type ExternalIds = BTreeMap<String, String>;

/// The network that owns a row. An invalid name is not a tag of usnet.
pub(super) fn network(external_ids: &ExternalIds) -> Option<NetworkName> {
    external_ids.get(NETWORK_KEY)?.parse().ok()
}

/// The owner of a port. Without a network, or with an invalid attachment, it is not a tag of usnet.
pub(super) fn port(external_ids: &ExternalIds) -> Option<PortOwner> {
    let attachment = external_ids.get(ATTACHMENT_KEY)?.parse().ok()?;
    Some(PortOwner { network: Some(network(external_ids)?), owner: Owner::Attachment(attachment) })
}

/// Whether a port has this owner. An unknown network matches any.
pub(super) fn is_owned_by(external_ids: &ExternalIds, owner: &PortOwner) -> bool {
    port(external_ids)
        .is_some_and(|found| found.owner == owner.owner && (owner.network.is_none() || owner.network == found.network))
}

pub(super) fn network_value(network: &NetworkName) -> Value {
    Value::map([(NETWORK_KEY, network.as_str())])
}

pub(super) fn port_value(owner: &PortOwner) -> Value {
    let network = owner.network.as_ref().map(|network| (NETWORK_KEY, network.as_str()));
    let (key, text) = match &owner.owner {
        Owner::Attachment(attachment) => (ATTACHMENT_KEY, attachment.to_string()),
    };
    Value::map(network.into_iter().chain([(key, text.as_str())]))
}

/// Matches rows with this tag, whatever other external_ids they have.
pub(super) fn carries(owner: Value) -> Condition {
    Condition::includes("external_ids", owner)
}
