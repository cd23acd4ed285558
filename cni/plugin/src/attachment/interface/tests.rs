use super::*;

fn id(container: &str) -> AttachmentId {
    AttachmentId { container: container.parse().unwrap(), interface: "net1".parse().unwrap() }
}

fn device(alias: Option<&str>, mac: MacAddress) -> Link {
    Link { is_veth: true, alias: alias.map(str::to_owned), mac: mac.octets().to_vec(), ..Link::default() }
}

#[test]
fn ownership_follows_the_alias_or_without_one_the_mac_address() {
    let (own, other) = (device_mac(&id("c1")), device_mac(&id("c2")));
    assert!(is_ours(&device(Some("usnet:c1.net1"), other), &id("c1")));
    assert!(!is_ours(&device(Some("usnet:c2.net1"), own), &id("c1")));
    assert!(is_ours(&device(None, own), &id("c1")));
    assert!(!is_ours(&device(None, other), &id("c1")));
    assert!(!is_ours(&Link { is_veth: false, ..device(Some("usnet:c1.net1"), own) }, &id("c1")));
}

#[test]
fn both_ends_of_a_pair_have_different_mac_addresses() {
    assert_ne!(device_mac(&id("c1")), crate::attachment::request::mac::mac_of(&id("c1")));
}
