use super::*;

fn id(container: &str) -> AttachmentId {
    AttachmentId { container: container.parse().unwrap(), interface: "net1".parse().unwrap() }
}

fn device(alias: Option<&str>, mac: MacAddress) -> Link {
    Link { is_veth: true, alias: alias.map(str::to_owned), mac: mac.octets().to_vec(), ..Link::default() }
}

#[test]
fn a_device_is_ours_by_its_alias_or_while_it_has_none_by_its_address() {
    let (own, other) = (device_mac(&id("c1")), device_mac(&id("c2")));
    assert!(is_ours(&device(Some("usnet:c1.net1"), other), &id("c1")));
    assert!(!is_ours(&device(Some("usnet:c2.net1"), own), &id("c1")));
    assert!(is_ours(&device(None, own), &id("c1")));
    assert!(!is_ours(&device(None, other), &id("c1")));
    assert!(!is_ours(&Link { is_veth: false, ..device(Some("usnet:c1.net1"), own) }, &id("c1")));
}

#[test]
fn the_end_on_the_node_has_another_address_than_the_pods() {
    assert_ne!(device_mac(&id("c1")), crate::mac::mac_of(&id("c1")));
}
