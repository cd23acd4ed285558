//! Generated MAC addresses.

use usnet_crds::MacAddress;
use usnet_dataplane::attachment::AttachmentId;

/// A locally administered MAC address (`02:…`) that is derived from the attachment, so that a
/// repeated ADD returns the same.
pub fn generated_mac(attachment: &AttachmentId) -> MacAddress {
    MacAddress::of(&attachment.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mac_addresses_are_stable_and_unique() {
        let mac = |id: &str| generated_mac(&id.parse().unwrap());
        let address = mac("c1.net1");
        assert_eq!(address, mac("c1.net1"));
        assert_ne!(address, mac("c1.net2"));
        assert_ne!(address, mac("c2.net1"));
        assert!(address.to_string().starts_with("02:"), "{address}");
        assert_eq!(address.to_string().parse(), Ok(address));
    }
}
