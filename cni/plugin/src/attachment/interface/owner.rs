//! The alias and the MAC address by which usnet recognizes its device on the node.

use super::link::Link;
use usnet_crds::MacAddress;
use usnet_dataplane::attachment::AttachmentId;

pub(super) fn ownership_alias(id: &AttachmentId) -> String {
    format!("usnet:{id}")
}

/// The MAC address of the device on the node. No frame has it as its source or destination.
pub fn device_mac(id: &AttachmentId) -> MacAddress {
    MacAddress::of(&format!("{} on the node", ownership_alias(id)))
}

pub(super) fn is_ours(found: &Link, id: &AttachmentId) -> bool {
    found.is_veth
        && match &found.alias {
            Some(alias) => *alias == ownership_alias(id),
            None => found.mac == device_mac(id).octets(),
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attachment::request::mac::generated_mac;
    use usnet_dataplane::testing::attachment;

    fn device(alias: Option<&str>, mac: MacAddress) -> Link {
        Link { is_veth: true, alias: alias.map(str::to_owned), mac: mac.octets().to_vec(), ..Link::default() }
    }

    #[test]
    fn ownership_follows_the_alias_or_without_one_the_mac_address() {
        let (own, other) = (device_mac(&attachment("c1")), device_mac(&attachment("c2")));
        assert!(is_ours(&device(Some("usnet:c1.net1"), other), &attachment("c1")));
        assert!(!is_ours(&device(Some("usnet:c2.net1"), own), &attachment("c1")));
        assert!(is_ours(&device(None, own), &attachment("c1")));
        assert!(!is_ours(&device(None, other), &attachment("c1")));
        assert!(!is_ours(&Link { is_veth: false, ..device(Some("usnet:c1.net1"), own) }, &attachment("c1")));
    }

    #[test]
    fn both_ends_of_a_pair_have_different_mac_addresses() {
        assert_ne!(device_mac(&attachment("c1")), generated_mac(&attachment("c1")));
    }
}
