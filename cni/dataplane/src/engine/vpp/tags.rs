//! Ownership tags in VPP: the tags of bridge domains and interfaces, 63 bytes each.
//!
//! The tag of a bridge domain is `usnet:` and its network; the interface on the network's own
//! device has the same, and so have a sub-interface that connects the network to an uplink and the
//! VXLAN tunnels of the network. The interface by which the node is in a network has `usnna:` and
//! its network. The tag of a NIC is `usnet^`, its uplink, `^` and the index of the
//! NIC in hexadecimal digits, or `@` and its PCI address as a number; a sub-interface for the
//! address of the node has the same without these. A loopback interface with the tag `usnbd:` and a
//! network marks a bridge domain that was taken over, because VPP tags none that exists.
//!
//! The tag of any other interface is its attachment, whose container id of 64 hexadecimal digits is
//! packed to fit: `usn:`, 43 characters of base64 and the rest. All other attachments are written
//! out after `usn=`.

use crate::engine::error::TagTooLong;
use crate::model::attachment::AttachmentId;
use crate::model::owner::{NetworkDevice, NetworkDeviceRole, NicIdentity, Owner, UplinkNic};
use crate::model::port::PortName;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use usnet_crds::{EngineKind, NetworkName, PciAddress, UplinkName};
use usnet_vpp::wire::FixedText;

pub(super) type Tag = FixedText<64>;

/// Longest tag, in bytes.
pub const TAG_MAX: usize = Tag::LIMIT;

const NETWORK: &str = "usnet:";
const NODE_ACCESS: &str = "usnna:";
const MARKER: &str = "usnbd:";
const UPLINK: &str = "usnet^";
/// Before the index of a NIC that the kernel drives, and before the address of another one.
const KERNEL_INDEX: char = '^';
const PCI_ADDRESS: char = '@';
const PACKED: &str = "usn:";
const PLAIN: &str = "usn=";
/// The first bytes of the MAC address of an interface on a device of the kernel that is not a
/// pod's: locally administered.
const DEVICE_MAC: [u8; 2] = [0x02, 0x75];
/// The first bytes of the MAC address of an interface that marks a bridge domain. Those of gateways
/// begin with another one.
const MARKER_MAC: [u8; 2] = [0x06, 0x75];
/// Digits of the container ids of usual container runtimes, and their length when packed.
const DIGITS: usize = 64;
const PACKED_DIGITS: usize = 43;

/// What to do about a name that does not fit.
const USE_SHORTER_ID: &str = "use container ids of 64 hexadecimal digits, or shorter ones";
const USE_SHORTER_NAME: &str = "use a shorter name";

fn too_long(what: String, remedy: &'static str) -> TagTooLong {
    TagTooLong { engine: EngineKind::Vpp, what, limit: TAG_MAX, remedy }
}

/// The tag of a network's bridge domain.
pub(super) fn network_tag(network: &NetworkName) -> Result<Tag, TagTooLong> {
    Tag::new(format!("{NETWORK}{network}")).map_err(|_| too_long(format!("network {network}"), USE_SHORTER_NAME))
}

/// The network that owns a bridge domain. A tag that usnet could not have written is not its own.
pub(super) fn network(tag: &str) -> Option<NetworkName> {
    tag.strip_prefix(NETWORK)?.parse().ok()
}

/// The tag of the interface by which the node is in a network.
fn node_access_tag(network: &NetworkName) -> Result<Tag, TagTooLong> {
    Tag::new(format!("{NODE_ACCESS}{network}")).map_err(|_| too_long(format!("network {network}"), USE_SHORTER_NAME))
}

/// The tag of the interface by which a network has a bridge domain that it took over.
pub(super) fn marker_tag(network: &NetworkName) -> Result<Tag, TagTooLong> {
    Tag::new(format!("{MARKER}{network}")).map_err(|_| too_long(format!("network {network}"), USE_SHORTER_NAME))
}

/// The network of such an interface.
pub(super) fn marker(tag: &str) -> Option<NetworkName> {
    tag.strip_prefix(MARKER)?.parse().ok()
}

/// The MAC address of such an interface in the bridge domain with this id, by which one is found
/// whose creation was interrupted. It sends no frames.
pub(super) fn marker_mac(domain: u32) -> [u8; 6] {
    let [a, b, c, d] = domain.to_be_bytes();
    let [first, second] = MARKER_MAC;
    [first, second, a, b, c, d]
}

/// The tag of the interface that has this owner.
pub(super) fn owner_tag(owner: &Owner) -> Result<Tag, TagTooLong> {
    match owner {
        Owner::Attachment(attachment) => attachment_tag(attachment),
        Owner::Network(device) => match device.role {
            NetworkDeviceRole::Overlay => network_tag(&device.network),
            NetworkDeviceRole::NodeAccess => node_access_tag(&device.network),
        },
        // The uplink is that of the interface that it is a part of.
        Owner::Patch(patch) => network_tag(&patch.network),
        Owner::Tunnel(tunnel) => network_tag(&tunnel.network),
        Owner::Nic(nic) => {
            let identity = |identity: &NicIdentity| match identity {
                NicIdentity::KernelIndex(index) => format!("{KERNEL_INDEX}{index:x}"),
                NicIdentity::PciAddress(address) => format!("{PCI_ADDRESS}{:x}", address.number()),
                // VPP has none.
                NicIdentity::Bond(_) => String::new(),
            };
            let identities: String = nic.identity.nics().iter().map(identity).collect();
            Tag::new(format!("{UPLINK}{}{identities}", nic.uplink))
                .map_err(|_| too_long(format!("uplink {}", nic.uplink), USE_SHORTER_NAME))
        }
    }
}

/// The tag of the sub-interface for the address of the node on an uplink.
pub(super) fn underlay_tag(uplink: &UplinkName) -> Result<Tag, TagTooLong> {
    Tag::new(format!("{UPLINK}{uplink}")).map_err(|_| too_long(format!("uplink {uplink}"), USE_SHORTER_NAME))
}

/// The uplink whose address of the node a sub-interface is for.
pub(super) fn underlay(tag: &str) -> Option<UplinkName> {
    tag.strip_prefix(UPLINK)?.parse().ok()
}

/// The MAC address of the interface on a network's own device, which has this index: the tag has no
/// room for it. VPP forwards by no address of interfaces in a bridge domain.
pub(super) fn device_mac(index: u32) -> [u8; 6] {
    let [a, b, c, d] = index.to_be_bytes();
    let [first, second] = DEVICE_MAC;
    [first, second, a, b, c, d]
}

/// The MAC address of the interface on a NIC that has this one. It is another address in each node,
/// because VPP answers to it as soon as the interface has an IP address; and it is not that of the
/// NIC, because the kernel would forward what was sent to VPP.
pub(super) fn nic_mac(mac: [u8; 6]) -> [u8; 6] {
    let [_, _, a, b, c, d] = mac;
    let [first, second] = DEVICE_MAC;
    [first, second, a, b, c, d]
}

/// Whether usnet created an interface with this MAC address on a device that is not a pod's.
pub(super) fn is_device_mac(mac: [u8; 6]) -> bool {
    mac.starts_with(&DEVICE_MAC)
}

/// The index of the network's own device that an interface with this MAC address was created on; 0,
/// which no device has, for any other address.
fn device_index(mac: [u8; 6]) -> u32 {
    match mac {
        [first, second, a, b, c, d] if [first, second] == DEVICE_MAC => u32::from_be_bytes([a, b, c, d]),
        _ => 0,
    }
}

/// The owner of an interface with this MAC address that is no sub-interface. A tag that usnet could
/// not have written is not its own.
pub(super) fn owner(tag: &str, mac: [u8; 6]) -> Option<Owner> {
    if let Some(network) = network(tag) {
        let role = NetworkDeviceRole::Overlay;
        return Some(Owner::Network(NetworkDevice { network, role, index: device_index(mac) }));
    }
    if let Some(network) = tag.strip_prefix(NODE_ACCESS) {
        let (network, role) = (network.parse().ok()?, NetworkDeviceRole::NodeAccess);
        return Some(Owner::Network(NetworkDevice { network, role, index: device_index(mac) }));
    }
    if let Some((uplink, identity)) = tag.strip_prefix(UPLINK).and_then(nic_of) {
        return Some(Owner::Nic(UplinkNic { uplink: uplink.parse().ok()?, identity }));
    }
    let attachment = match (tag.strip_prefix(PACKED), tag.strip_prefix(PLAIN)) {
        (Some(packed), _) => unpack(packed)?,
        (None, Some(plain)) => plain.to_owned(),
        (None, None) => return None,
    };
    let owner = Owner::Attachment(attachment.parse().ok()?);
    owner_tag(&owner).is_ok_and(|created| created.as_str() == tag).then_some(owner)
}

/// The uplink and the NIC in a tag without its prefix.
fn nic_of(tag: &str) -> Option<(&str, NicIdentity)> {
    let number = |digits| u32::from_str_radix(digits, 16).ok();
    if let Some((uplink, digits)) = tag.split_once(KERNEL_INDEX) {
        return Some((uplink, NicIdentity::KernelIndex(number(digits)?)));
    }
    let (uplink, digits) = tag.split_once(PCI_ADDRESS)?;
    Some((uplink, NicIdentity::PciAddress(PciAddress::of_number(number(digits)?))))
}

/// The owner of an interface that is no sub-interface.
pub(crate) fn owner_of(details: &usnet_vpp::messages::SwInterfaceDetails) -> Option<Owner> {
    owner(details.tag.as_str(), details.l2_address)
}

/// The name of a pod's port that an interface is.
pub(crate) fn port_of_pod(details: &usnet_vpp::messages::SwInterfaceDetails) -> Option<PortName> {
    match owner_of(details)? {
        Owner::Attachment(attachment) => Some(PortName::of(&attachment)),
        Owner::Network(_) | Owner::Nic(_) | Owner::Patch(_) | Owner::Tunnel(_) => None,
    }
}

/// Whether an interface connects a network with other nodes.
pub(crate) fn is_of_network(details: &usnet_vpp::messages::SwInterfaceDetails) -> bool {
    network(details.tag.as_str()).is_some()
}

fn attachment_tag(attachment: &AttachmentId) -> Result<Tag, TagTooLong> {
    let text = attachment.to_string();
    let tag = match pack(&text) {
        Some(packed) => format!("{PACKED}{packed}"),
        None => format!("{PLAIN}{text}"),
    };
    Tag::new(tag).map_err(|_| too_long(format!("attachment {text}"), USE_SHORTER_ID))
}

/// Whether an attachment fits into a tag.
///
/// # Errors
/// Its name is too long.
pub fn check_attachment(id: &AttachmentId) -> Result<(), TagTooLong> {
    attachment_tag(id).map(drop)
}

/// The attachment with its container id in base64; `None` if the id is not 64 hexadecimal digits.
fn pack(attachment: &str) -> Option<String> {
    let (digits, rest) = attachment.split_at_checked(DIGITS)?;
    if !rest.starts_with('.') || !digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let pairs = (0..DIGITS).step_by(2).map(|place| u8::from_str_radix(digits.get(place..place + 2)?, 16).ok());
    let bytes: Option<Vec<u8>> = pairs.collect();
    Some(format!("{}{rest}", URL_SAFE_NO_PAD.encode(bytes?)))
}

fn unpack(packed: &str) -> Option<String> {
    let (digits, rest) = packed.split_at_checked(PACKED_DIGITS)?;
    let bytes = URL_SAFE_NO_PAD.decode(digits).ok()?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("{digits}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_crds::names::UPLINK_NAME_MAX;

    fn attachment(text: &str) -> Owner {
        Owner::Attachment(text.parse().unwrap())
    }

    #[test]
    fn the_longest_usual_attachment_fits_exactly() {
        let longest = attachment(&format!("{}.{}", "0123456789abcdef".repeat(4), "a".repeat(15)));
        let tag = owner_tag(&longest).unwrap();
        assert_eq!(tag.as_str().len(), TAG_MAX);
        assert_eq!(owner(tag.as_str(), [0; 6]), Some(longest));
    }

    #[test]
    fn every_attachment_has_one_tag_or_none() {
        for name in ["c1.net1", "cnitool-77383ca0a0715733ca6f.eth0", "a.b.c", &format!("{}.net1", "F".repeat(54))] {
            let tag = owner_tag(&attachment(name)).unwrap();
            assert_eq!(owner(tag.as_str(), [0; 6]), Some(attachment(name)), "{name}");
        }
        let long = format!("{}.net1", "x".repeat(60));
        let too_long = owner_tag(&attachment(&long)).unwrap_err();
        assert_eq!(too_long.what, format!("attachment {long}"));
        let digits = format!("{}.a", "0".repeat(64));
        assert!(owner_tag(&attachment(&digits)).unwrap().as_str().len() < TAG_MAX);
    }

    #[test]
    fn the_interface_of_a_network_names_it_and_the_index_of_its_device() {
        for role in [NetworkDeviceRole::Overlay, NetworkDeviceRole::NodeAccess] {
            let device = NetworkDevice { network: "n".repeat(57).parse().unwrap(), role, index: 0x0102_0304 };
            let of_device = Owner::Network(device.clone());
            let tag = owner_tag(&of_device).unwrap();
            assert_eq!(owner(tag.as_str(), device_mac(device.index)), Some(of_device.clone()));
            assert_ne!(owner(tag.as_str(), [2, 0xfe, 1, 2, 3, 4]), Some(of_device));
        }
    }

    #[test]
    fn the_interface_of_a_nic_names_its_uplink_and_the_index_of_the_nic() {
        let uplink: UplinkName = "u".repeat(UPLINK_NAME_MAX).parse().unwrap();
        let identities = [NicIdentity::KernelIndex(u32::MAX), NicIdentity::PciAddress("ffff:ff:1f.7".parse().unwrap())];
        let mut tags = Vec::new();
        for identity in identities {
            let nic = Owner::Nic(UplinkNic { uplink: uplink.clone(), identity });
            let tag = owner_tag(&nic).unwrap();
            assert_eq!(tag.as_str().len(), TAG_MAX);
            assert_eq!(owner(tag.as_str(), [0; 6]), Some(nic));
            tags.push(tag);
        }
        let fab: UplinkName = "fab".parse().unwrap();
        assert_eq!(underlay(underlay_tag(&fab).unwrap().as_str()), Some(fab));
        assert!(tags.iter().all(|tag| underlay(tag.as_str()).is_none()));
        for foreign in ["usnet^", "usnet^fab", "usnet^fab^", "usnet^fab^g", "usnet^Not A Name^7", "usnet^^7"] {
            assert_eq!(owner(foreign, device_mac(7)), None, "{foreign}");
        }
    }

    #[test]
    fn interfaces_on_nics_of_two_nodes_have_different_addresses() {
        let [one, two] = [[0x52, 0x54, 0, 1, 2, 3], [0x52, 0x54, 0, 1, 2, 4]];
        assert_ne!(nic_mac(one), nic_mac(two));
        assert_ne!(nic_mac(one), one);
        assert!(is_device_mac(nic_mac(one)) && !is_device_mac(one));
    }

    #[test]
    fn invalid_tags_are_not_owned() {
        let written_out = format!("{PLAIN}{}.a", "0".repeat(64));
        for tag in ["", "usnet", "usn", "usn:", "usn:short.net1", "other", &written_out, "usn:????", "usn=", "usn=c1"] {
            assert_eq!(owner(tag, [0; 6]), None, "{tag}");
        }
        for tag in ["", "usnet:", "usnet:Not A Name", "usnet/blue", "blue"] {
            assert_eq!(network(tag), None, "{tag}");
        }
        let blue: NetworkName = "blue".parse().unwrap();
        assert_eq!(network(network_tag(&blue).unwrap().as_str()), Some(blue.clone()));
        assert!(network_tag(&"n".repeat(57).parse().unwrap()).is_ok());
        assert!(network_tag(&"n".repeat(58).parse().unwrap()).is_err());
        assert_eq!(marker(marker_tag(&blue).unwrap().as_str()), Some(blue));
        assert!(
            marker("usnet:blue").is_none() && network("usnbd:blue").is_none() && owner("usnbd:blue", [6; 6]).is_none()
        );
    }
}
