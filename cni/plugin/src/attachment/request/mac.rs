//! Generated MAC addresses.

use usnet_crds::MacAddress;
use usnet_dataplane::attachment::AttachmentId;

/// The address of an attachment without a requested address: locally administered (`02:…`) and
/// derived from the attachment, so that a repeated ADD returns the same.
pub fn mac_of(attachment: &AttachmentId) -> MacAddress {
    MacAddress::of(&attachment.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attachment(container: &str, interface: &str) -> AttachmentId {
        AttachmentId { container: container.parse().unwrap(), interface: interface.parse().unwrap() }
    }

    #[test]
    fn mac_addresses_are_stable_and_unique() {
        let address = mac_of(&attachment("c1", "net1"));
        assert_eq!(address, mac_of(&attachment("c1", "net1")));
        assert_ne!(address, mac_of(&attachment("c1", "net2")));
        assert_ne!(address, mac_of(&attachment("c2", "net1")));
        assert!(address.to_string().starts_with("02:"), "{address}");
        assert_eq!(address.to_string().parse(), Ok(address));
    }
}
