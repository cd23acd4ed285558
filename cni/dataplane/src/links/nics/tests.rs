use super::*;
use crate::model::owner::NicIdentity;
use crate::model::port::{DeviceName, DeviceRole, PortBackend};
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_crds::{EngineKind, NodeUplink, UplinkName};

fn uplink(name: &str, device: &str, node_traffic: &str) -> NodeUplink {
    let text = format!(
        r#"{{"name": "{name}", "generation": 1, "engine": "OVS", "nic": {{"device": {device}}}, "nodeTraffic": "{node_traffic}"}}"#
    );
    serde_json::from_str(&text).unwrap()
}

fn named(nic: &str) -> NodeUplink {
    uplink("fab", &format!(r#"{{"type": "Name", "name": "{nic}"}}"#), "Refused")
}

fn nic(name: &str, last_of_mac: u8) -> ObservedNic {
    ObservedNic {
        name: DeviceName::observed(name),
        macs: vec![[2, 0, 0, 0, 0, last_of_mac]],
        pci: Some(format!("0000:3b:00.{last_of_mac}")),
        is_physical: true,
        master: None,
        mtu: 1500,
        is_up: true,
        is_promiscuous: false,
        has_carrier: true,
        addresses: [].into(),
        has_default_route: false,
        offloads: ObservedOffloads::default(),
    }
}

/// A node with `eth1` (index 7) and `eth2` (index 8).
fn node() -> ObservedNics {
    ObservedNics { may_change: true, nics: [(7, nic("eth1", 1)), (8, nic("eth2", 2))].into() }
}

/// The node after a change of `eth1`.
fn changed(change: impl FnOnce(&mut ObservedNic)) -> ObservedNics {
    let mut node = node();
    change(node.nics.get_mut(&7).unwrap());
    node
}

fn joined_nic(device: &str, index: u32) -> JoinedNic {
    let backend = PortBackend::Device { device: DeviceName::observed(device) };
    JoinedNic { identity: NicIdentity::KernelIndex(index), backend }
}

fn one(uplink: &NodeUplink, joined: Option<(&str, u32)>, observed: &ObservedNics) -> ResolvedUplink {
    resolve_with(uplink, joined, false, observed)
}

fn resolve_with(
    uplink: &NodeUplink,
    joined: Option<(&str, u32)>,
    is_untagged: bool,
    observed: &ObservedNics,
) -> ResolvedUplink {
    let joined = joined.map(|(port, index)| joined_nic(port, index));
    let request = UplinkRequest { uplink, is_used: true, is_untagged, joined: joined.as_ref() };
    resolve(&[request], &[], observed).remove(&uplink.name).unwrap()
}

fn index(resolved: &ResolvedUplink) -> Option<u32> {
    resolved.nic().map(|nic| nic.index)
}

#[test]
fn a_nic_is_found_by_name_mac_address_and_pci_address() {
    for (device, found) in [
        (r#"{"type": "Name", "name": "eth2"}"#, 8),
        (r#"{"type": "MacAddress", "macAddress": "02:00:00:00:00:01"}"#, 7),
        (r#"{"type": "PciAddress", "pciAddress": "0000:3B:00.2"}"#, 8),
    ] {
        let resolved = one(&uplink("fab", device, "Refused"), None, &node());
        assert_eq!((index(&resolved), resolved.blocker), (Some(found), None), "{device}");
    }
}

#[test]
fn of_devices_with_one_mac_address_only_nics_count_and_two_are_ambiguous() {
    let by_mac = uplink("fab", r#"{"type": "MacAddress", "macAddress": "02:00:00:00:00:01"}"#, "Refused");
    let mut observed = node();
    observed.nics.insert(9, ObservedNic { is_physical: false, ..nic("eth1.100", 1) });
    assert_eq!(index(&one(&by_mac, None, &observed)), Some(7));
    observed.nics.insert(10, nic("eth3", 1));
    let ambiguous = one(&by_mac, None, &observed);
    assert!(matches!(ambiguous.blocker, Some(NicBlocker::Ambiguous { found, .. }) if found.len() == 2));
}

#[test]
fn a_nic_that_the_node_uses_is_refused_and_says_what_for() {
    let address = "10.0.0.7/24".parse().unwrap();
    for (observed, text) in [
        (changed(|nic| nic.addresses = [address].into()), "has address 10.0.0.7"),
        (changed(|nic| nic.has_default_route = true), "has a default route"),
        (changed(|nic| nic.master = Some(8)), "belongs to eth2"),
    ] {
        let refused = one(&named("eth1"), None, &observed);
        assert!(!refused.may_join && refused.mtu == Some(1500));
        let Some(NicBlocker::CarriesNode { nic, what }) = refused.blocker else { panic!("{refused:?}") };
        assert_eq!((nic.as_str(), what.to_string().as_str()), ("eth1", text));
        let shared = uplink("fab", r#"{"type": "Name", "name": "eth1"}"#, "Shared");
        assert_eq!(index(&resolve_with(&shared, None, false, &observed)), Some(7));
        let untagged = resolve_with(&shared, None, true, &observed);
        assert!(matches!(untagged.blocker, Some(NicBlocker::SharedUntagged { .. })) && !untagged.may_join);
    }
}

#[test]
fn a_nic_that_is_gone_is_missing_before_and_lost_after_it_was_joined() {
    let missing = one(&named("eth9"), None, &node());
    assert_eq!(missing.blocker, Some(NicBlocker::Missing { wanted: "eth9".to_owned() }));
    let lost = one(&named("eth9"), Some(("eth9", 4)), &node());
    assert_eq!(lost.blocker, Some(NicBlocker::Lost { nic: "eth9".to_owned(), renamed: None }));
    let renamed = one(&named("eth9"), Some(("eth9", 8)), &node());
    let name = Some(DeviceName::observed("eth2"));
    assert_eq!(renamed.blocker, Some(NicBlocker::Lost { nic: "eth9".to_owned(), renamed: name }));
    assert!([missing, lost, renamed].iter().all(|resolved| resolved.nic().is_none()));
}

#[test]
fn a_nic_that_was_created_again_is_joined_again() {
    assert_eq!(index(&one(&named("eth1"), Some(("eth1", 3)), &node())), Some(7));
}

#[test]
fn a_nic_of_vpp_takes_frames_to_any_address() {
    let vpp = NodeUplink { engine: EngineKind::Vpp, ..named("eth1") };
    assert!(one(&vpp, None, &node()).must_set_promiscuous);
    assert!(!one(&vpp, None, &changed(|nic| nic.is_promiscuous = true)).must_set_promiscuous);
    assert!(!one(&named("eth1"), None, &node()).must_set_promiscuous, "Open vSwitch does it");
}

#[test]
fn a_nic_that_is_down_is_set_up_for_networks_unless_it_is_the_nodes() {
    let down = changed(|nic| (nic.is_up, nic.has_carrier) = (false, false));
    let is_down = Some(NicBlocker::Down { nic: DeviceName::observed("eth1") });
    let resolved = one(&named("eth1"), None, &down);
    assert!(resolved.must_set_up && resolved.may_join && resolved.blocker == is_down);
    let shared = uplink("fab", r#"{"type": "Name", "name": "eth1"}"#, "Shared");
    assert!(!one(&shared, None, &down).must_set_up);
    let unused = UplinkRequest { uplink: &named("eth1"), is_used: false, is_untagged: false, joined: None };
    let unused = resolve(&[unused], &[], &down).into_values().next().unwrap();
    assert_eq!((unused.must_set_up, unused.blocker), (false, None));
    let unplugged = one(&named("eth1"), Some(("eth1", 7)), &changed(|nic| nic.has_carrier = false));
    assert_eq!(unplugged.blocker, Some(NicBlocker::NoCarrier { nic: DeviceName::observed("eth1") }));
    assert!(unplugged.may_join && !unplugged.must_set_up);
}

#[test]
fn of_two_uplinks_the_one_that_has_the_nic_keeps_it() {
    let (first, second) = (
        NodeUplink { name: "a".parse().unwrap(), ..named("eth1") },
        NodeUplink { name: "b".parse().unwrap(), ..named("eth1") },
    );
    let joined = joined_nic("eth1", 7);
    let request = |uplink, joined| UplinkRequest { uplink, is_used: true, is_untagged: false, joined };
    let owner = |resolved: BTreeMap<UplinkName, ResolvedUplink>| {
        let have: Vec<_> = resolved
            .iter()
            .filter(|(_, resolved)| resolved.nic().is_some())
            .map(|(name, _)| name.to_string())
            .collect();
        let taken = resolved.values().any(|resolved| matches!(resolved.blocker, Some(NicBlocker::Taken { .. })));
        (have, taken)
    };
    let new = resolve(&[request(&first, None), request(&second, None)], &[], &node());
    assert_eq!(owner(new), (vec!["a".to_owned()], true));
    let later = resolve(&[request(&first, None), request(&second, Some(&joined))], &[], &node());
    assert_eq!(owner(later), (vec!["b".to_owned()], true));
    // Uplinks of the other engine come first, also if this one has it.
    let both = resolve(&[request(&first, Some(&joined))], &[Arc::new(named("eth1"))], &node());
    assert_eq!(owner(both), (vec![], true));
}

#[test]
fn what_is_not_permitted_is_said() {
    let unprivileged = ObservedNics { may_change: false, ..node() };
    assert_eq!(one(&named("eth1"), None, &unprivileged).blocker, Some(NicBlocker::MissingPrivilege));
}

/// The engine would lose merged packets: what can be switched off is, also on a NIC that the node
/// shares, and what remains on is reported.
#[test]
fn a_nic_with_networks_merges_no_received_packets() {
    use ReceiveOffload::{Gro, HardwareGro, Lro};
    let merges = |on: &[ReceiveOffload], changeable: &[ReceiveOffload]| {
        changed(|nic| {
            nic.offloads =
                ObservedOffloads { on: on.iter().copied().collect(), changeable: changeable.iter().copied().collect() };
        })
    };
    let observed = merges(&[Gro, HardwareGro], &[Gro, Lro]);
    for traffic in ["Refused", "Shared"] {
        let fab = uplink("fab", r#"{"type": "Name", "name": "eth1"}"#, traffic);
        let resolved = one(&fab, None, &observed);
        assert_eq!((resolved.must_disable, resolved.may_join), ([Gro].into(), true));
    }
    let refused = one(&named("eth1"), None, &merges(&[HardwareGro], &[Gro]));
    assert_eq!(refused.must_disable, [].into());
    let nic = DeviceName::observed("eth1");
    assert_eq!(refused.blocker, Some(NicBlocker::MergesPackets { nic, offloads: [HardwareGro].into() }));
    assert_eq!(one(&named("eth1"), None, &merges(&[], &[Gro])).blocker, None);
    let fab = named("eth1");
    let unused = UplinkRequest { uplink: &fab, is_used: false, is_untagged: false, joined: None };
    let unused = resolve(&[unused], &[], &observed).remove(&fab.name).unwrap();
    assert_eq!((unused.must_disable, unused.blocker), ([].into(), None));
    let carries = changed(|nic| {
        nic.has_default_route = true;
        nic.offloads.on = [Gro].into();
        nic.offloads.changeable = [Gro].into();
    });
    assert_eq!(one(&named("eth1"), None, &carries).must_disable, [].into(), "it is left alone");
}

#[test]
fn what_merges_packets_is_what_is_switched_off_at_a_nic() {
    assert_eq!(ReceiveOffload::ALL.map(ReceiveOffload::kernel_name), *DeviceRole::Nic.offloads_off());
}
