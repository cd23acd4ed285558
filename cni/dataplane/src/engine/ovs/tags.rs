//! Ownership tags in Open vSwitch: keys in `external_ids` of bridges and ports.

use crate::model::bridge::BridgeOwner;
use crate::model::owner::{
    NetworkDevice, NetworkDeviceRole, NetworkTunnel, NicIdentity, Owner, PatchedNetwork, PortOwner, UplinkNic,
};
use crate::model::policy_zone::PolicyZone;
use crate::model::port::Guard;
use std::collections::BTreeMap;
use usnet_crds::{InterfaceAddress, NetworkName, PciAddress, UplinkName};
use usnet_ovsdb::{Condition, Value};

/// On bridges and ports: the network.
pub const NETWORK_KEY: &str = "usnet.dev/network";
/// On ports of pods: the attachment.
pub const ATTACHMENT_KEY: &str = "usnet.dev/attachment";
/// On the bridge of an uplink and on the port of its NIC; beside the network on both patch ports of
/// a network: the uplink.
pub const UPLINK_KEY: &str = "usnet.dev/uplink";
/// On a network's own port and on that of a NIC: the index that the device had when it was joined,
/// or the PCI address of a NIC that the kernel does not drive; those of all members of a bond with
/// commas between them.
pub const DEVICE_KEY: &str = "usnet.dev/device-index";
/// On the port by which the node is in a network, beside the network and the index: what it is.
pub(super) const ROLE_KEY: &str = "usnet.dev/device-role";
const NODE_ACCESS: &str = "node-access";
const BETWEEN_MEMBERS: &str = ",";
/// On a mirror and the port that it sends to: the number of the capture. They are no ports of a
/// network.
pub(crate) const CAPTURE_KEY: &str = "usnet.dev/capture";

/// On the interface of a port on which the switch listens: the socket's place for the pod.
pub(super) const SOCKET_KEY: &str = "usnet.dev/socket";
/// On a tunnel: the address of its peer.
pub(super) const PEER_KEY: &str = "usnet.dev/peer";
/// On the port of a pod: what the pod may claim to be.
pub(super) const GUARD_KEY: &str = "usnet.dev/guard";
/// On the bridge of an uplink: the address of this node that its local port has.
pub(super) const ADDRESS_KEY: &str = "usnet.dev/address";

/// On the bridge of a network whose policies are enforced: the zone of their connections. New ports
/// stay closed there until the agent knows what is allowed.
pub const POLICY_ZONE_KEY: &str = "usnet.dev/policy-zone";

type ExternalIds = BTreeMap<String, String>;

/// The uplink that owns a bridge. One that a network owns is of none.
pub(super) fn uplink(external_ids: &ExternalIds) -> Option<UplinkName> {
    if external_ids.contains_key(NETWORK_KEY) {
        return None;
    }
    external_ids.get(UPLINK_KEY)?.parse().ok()
}

/// The owner of a bridge.
pub(super) fn bridge(external_ids: &ExternalIds) -> Option<BridgeOwner> {
    let network = network(external_ids).map(BridgeOwner::Network);
    network.or_else(|| uplink(external_ids).map(BridgeOwner::Uplink))
}

/// The address that the bridge of an uplink is to have.
pub(super) fn address(external_ids: &ExternalIds) -> Option<InterfaceAddress> {
    external_ids.get(ADDRESS_KEY)?.parse().ok()
}

/// What the pod of a port may claim to be. A text that is no guard is none: then nothing of the
/// port is forwarded.
pub(super) fn guard(external_ids: &ExternalIds) -> Option<Guard> {
    external_ids.get(GUARD_KEY)?.parse().ok()
}

/// Whether policies are enforced on a bridge. A zone that cannot be read is one, too: then nothing
/// of a new port is forwarded.
pub(super) fn has_policies(external_ids: &ExternalIds) -> bool {
    external_ids.contains_key(POLICY_ZONE_KEY)
}

/// The zone of the policies of a bridge.
pub(super) fn policy_zone(external_ids: &ExternalIds) -> Option<PolicyZone> {
    external_ids.get(POLICY_ZONE_KEY)?.parse().ok()
}

/// The network that owns a row. An invalid name is not a tag of usnet.
pub(super) fn network(external_ids: &ExternalIds) -> Option<NetworkName> {
    external_ids.get(NETWORK_KEY)?.parse().ok()
}

/// The owner of a port. With keys that do not belong together, or with an invalid value, it is not
/// a tag of usnet.
pub(super) fn port(external_ids: &ExternalIds) -> Option<PortOwner> {
    let value = |key| external_ids.get(key);
    if let Some(peer) = value(PEER_KEY) {
        let others = [ATTACHMENT_KEY, DEVICE_KEY, UPLINK_KEY];
        let network = value(NETWORK_KEY).filter(|_| !others.iter().any(|key| external_ids.contains_key(*key)))?;
        let tunnel = NetworkTunnel { network: network.parse().ok()?, peer: peer.parse().ok()? };
        return Some(PortOwner::of_tunnel(&tunnel));
    }
    let keys = (value(NETWORK_KEY), value(ATTACHMENT_KEY), value(DEVICE_KEY), value(UPLINK_KEY));
    Some(match keys {
        (Some(network), Some(attachment), None, None) => {
            PortOwner::new(&network.parse().ok()?, &attachment.parse().ok()?)
        }
        (Some(network), None, Some(index), None) => {
            let role = match value(ROLE_KEY).map(String::as_str) {
                None => NetworkDeviceRole::Overlay,
                Some(NODE_ACCESS) => NetworkDeviceRole::NodeAccess,
                Some(_) => return None,
            };
            PortOwner::of_device(&NetworkDevice { network: network.parse().ok()?, role, index: index.parse().ok()? })
        }
        (None, None, Some(identity), Some(uplink)) => {
            PortOwner::of_nic(&UplinkNic { uplink: uplink.parse().ok()?, identity: nic_identity(identity)? })
        }
        (Some(network), None, None, Some(uplink)) => {
            PortOwner::of_patch(&PatchedNetwork { uplink: uplink.parse().ok()?, network: network.parse().ok()? })
        }
        _ => return None,
    })
}

/// A bond has several, or a comma at the end.
fn nic_identity(text: &str) -> Option<NicIdentity> {
    let Some((first, others)) = text.split_once(BETWEEN_MEMBERS) else { return one_identity(text) };
    let others = others.split(BETWEEN_MEMBERS).filter(|_| !others.is_empty());
    let members: Option<Vec<_>> = std::iter::once(first).chain(others).map(one_identity).collect();
    members.map(NicIdentity::Bond)
}

fn identity_text(identity: &NicIdentity) -> String {
    match identity {
        NicIdentity::KernelIndex(index) => index.to_string(),
        NicIdentity::PciAddress(address) => address.to_string(),
        NicIdentity::Bond(members) => {
            let members: Vec<_> = members.iter().map(identity_text).collect();
            // Without it, a bond with one member would be that NIC.
            let end = if members.len() == 1 { BETWEEN_MEMBERS } else { "" };
            members.join(BETWEEN_MEMBERS) + end
        }
    }
}

/// A PCI address has colons, and an index has none. There is one form of each address in a tag.
fn one_identity(text: &str) -> Option<NicIdentity> {
    let index = text.parse().ok().map(NicIdentity::KernelIndex);
    let address = || text.parse().ok().filter(|address: &PciAddress| address.to_string() == text);
    index.or_else(|| address().map(NicIdentity::PciAddress))
}

/// Whether a port belongs to a capture.
pub(super) fn is_of_capture(external_ids: &ExternalIds) -> bool {
    external_ids.contains_key(CAPTURE_KEY)
}

/// Whether a port has this owner. An unknown network matches any.
pub(super) fn is_owned_by(external_ids: &ExternalIds, owner: &PortOwner) -> bool {
    port(external_ids)
        .is_some_and(|found| found.owner == owner.owner && (owner.network.is_none() || owner.network == found.network))
}

pub(super) fn bridge_value(owner: &BridgeOwner) -> Value {
    match owner {
        BridgeOwner::Network(network) => Value::map([(NETWORK_KEY, network.as_str())]),
        BridgeOwner::Uplink(uplink) => Value::map([(UPLINK_KEY, uplink.as_str())]),
    }
}

pub(crate) fn port_value(owner: &PortOwner) -> Value {
    Value::map(port_keys(owner))
}

/// All tags of a new bridge.
pub(super) fn new_bridge_value(
    owner: &BridgeOwner,
    settings: impl IntoIterator<Item = (&'static str, Option<String>)>,
) -> Value {
    let owner = match owner {
        BridgeOwner::Network(network) => (NETWORK_KEY, network.to_string()),
        BridgeOwner::Uplink(uplink) => (UPLINK_KEY, uplink.to_string()),
    };
    let settings = settings.into_iter().filter_map(|(key, value)| Some((key, value?)));
    Value::map([owner].into_iter().chain(settings))
}

/// All tags of a new port.
pub(super) fn new_port_value(owner: &PortOwner, guard: Option<&Guard>) -> Value {
    Value::map(port_keys(owner).chain(guard.map(|guard| (GUARD_KEY, guard.to_string()))))
}

fn port_keys(owner: &PortOwner) -> impl Iterator<Item = (&'static str, String)> {
    let network = owner.network.as_ref().map(|network| (NETWORK_KEY, network.to_string()));
    let keys = match &owner.owner {
        Owner::Attachment(attachment) => [Some((ATTACHMENT_KEY, attachment.to_string())), None],
        Owner::Network(device) => {
            let is_of_node = device.role == NetworkDeviceRole::NodeAccess;
            let role = is_of_node.then(|| (ROLE_KEY, NODE_ACCESS.to_owned()));
            [Some((DEVICE_KEY, device.index.to_string())), role]
        }
        Owner::Nic(nic) => {
            [Some((UPLINK_KEY, nic.uplink.to_string())), Some((DEVICE_KEY, identity_text(&nic.identity)))]
        }
        Owner::Patch(patch) => [Some((UPLINK_KEY, patch.uplink.to_string())), None],
        Owner::Tunnel(tunnel) => [Some((PEER_KEY, tunnel.peer.to_string())), None],
    };
    network.into_iter().chain(keys.into_iter().flatten())
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
        let uplink = (UPLINK_KEY, "fab");
        let patch = PatchedNetwork { uplink: "fab".parse().unwrap(), network: blue.clone() };
        assert_eq!(owner(&[network, uplink]), Some(PortOwner::of_patch(&patch)));
        let nic = |identity| PortOwner::of_nic(&UplinkNic { uplink: patch.uplink.clone(), identity });
        assert_eq!(owner(&[uplink, (DEVICE_KEY, "17")]), Some(nic(NicIdentity::KernelIndex(17))));
        let pci = nic(NicIdentity::PciAddress("0000:3b:00.1".parse().unwrap()));
        assert_eq!(owner(&[uplink, (DEVICE_KEY, "0000:3b:00.1")]), Some(pci));
        for members in [vec![17], vec![17, 8]] {
            let bond = nic(NicIdentity::Bond(members.into_iter().map(NicIdentity::KernelIndex).collect()));
            let Owner::Nic(tagged) = &bond.owner else { panic!() };
            assert_eq!(owner(&[uplink, (DEVICE_KEY, &identity_text(&tagged.identity))]), Some(bond));
        }
        let tunnel = NetworkTunnel { network: blue.clone(), peer: [192, 168, 50, 2].into() };
        assert_eq!(owner(&[network, (PEER_KEY, "192.168.50.2")]), Some(PortOwner::of_tunnel(&tunnel)));
        let device = |role| PortOwner::of_device(&NetworkDevice { network: blue.clone(), role, index: 17 });
        assert_eq!(owner(&[network, (DEVICE_KEY, "17")]), Some(device(NetworkDeviceRole::Overlay)));
        let role = (ROLE_KEY, "node-access");
        assert_eq!(owner(&[network, (DEVICE_KEY, "17"), role]), Some(device(NetworkDeviceRole::NodeAccess)));
        for none in [
            vec![network],
            vec![(DEVICE_KEY, "17")],
            vec![network, (DEVICE_KEY, "x")],
            vec![network, (DEVICE_KEY, "17"), (ROLE_KEY, "x")],
            vec![network, (DEVICE_KEY, "17"), (ATTACHMENT_KEY, "c1.net1")],
            vec![(PEER_KEY, "192.168.50.2")],
            vec![network, (PEER_KEY, "x")],
            vec![network, (PEER_KEY, "192.168.50.2"), (ATTACHMENT_KEY, "c1.net1")],
            vec![uplink],
            vec![uplink, (DEVICE_KEY, "eth1")],
            vec![uplink, (DEVICE_KEY, "17,,8")],
            vec![uplink, (DEVICE_KEY, ",")],
            vec![uplink, (DEVICE_KEY, "0000:3B:00.1")],
            vec![uplink, network, (DEVICE_KEY, "17")],
            vec![uplink, network, (ATTACHMENT_KEY, "c1.net1")],
        ] {
            assert_eq!(owner(&none), None, "{none:?}");
        }
    }
}
