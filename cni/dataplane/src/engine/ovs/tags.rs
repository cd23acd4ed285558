//! Ownership tags in Open vSwitch: keys in `external_ids` of bridges and ports.

use crate::model::owner::{NetworkDevice, Owner, PortOwner};
use std::collections::BTreeMap;
use usnet_crds::NetworkName;
use usnet_ovsdb::{Condition, Value};

/// On bridges and ports: the network.
pub const NETWORK_KEY: &str = "usnet.dev/network";
/// On ports of pods: the attachment.
pub const ATTACHMENT_KEY: &str = "usnet.dev/attachment";
/// On a network's own port: the index that its device had when it was joined.
pub const DEVICE_KEY: &str = "usnet.dev/device-index";

type ExternalIds = BTreeMap<String, String>;

/// The network that owns a row. An invalid name is not a tag of usnet.
pub(super) fn network(external_ids: &ExternalIds) -> Option<NetworkName> {
    external_ids.get(NETWORK_KEY)?.parse().ok()
}

/// The owner of a port. Without a network, with an invalid attachment or index, or with both, it is
/// not a tag of usnet.
pub(super) fn port(external_ids: &ExternalIds) -> Option<PortOwner> {
    let network = network(external_ids)?;
    match (external_ids.get(ATTACHMENT_KEY), external_ids.get(DEVICE_KEY)) {
        (Some(attachment), None) => Some(PortOwner::new(&network, &attachment.parse().ok()?)),
        (None, Some(index)) => Some(PortOwner::of_device(&NetworkDevice { network, index: index.parse().ok()? })),
        (Some(_), Some(_)) | (None, None) => None,
    }
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
        Owner::Network(device) => (DEVICE_KEY, device.index.to_string()),
    };
    Value::map(network.into_iter().chain([(key, text.as_str())]))
}

/// Matches rows with this tag, whatever other external_ids they have.
pub(super) fn carries(owner: Value) -> Condition {
    Condition::includes("external_ids", owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(keys: &[(&str, &str)]) -> Option<PortOwner> {
        port(&keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn each_owner_has_a_key_of_its_own() {
        let blue = "blue".parse().unwrap();
        let network = (NETWORK_KEY, "blue");
        let attachment = PortOwner::new(&blue, &"c1.net1".parse().unwrap());
        assert_eq!(owner(&[network, (ATTACHMENT_KEY, "c1.net1")]), Some(attachment));
        let device = PortOwner::of_device(&NetworkDevice { network: blue, index: 17 });
        assert_eq!(owner(&[network, (DEVICE_KEY, "17")]), Some(device));
        for none in [
            vec![network],
            vec![(DEVICE_KEY, "17")],
            vec![network, (DEVICE_KEY, "x")],
            vec![network, (DEVICE_KEY, "17"), (ATTACHMENT_KEY, "c1.net1")],
        ] {
            assert_eq!(owner(&none), None, "{none:?}");
        }
    }
}
