mod bonds;
mod dpdk;

use super::*;
use crate::links::pci::ObservedPci;
use crate::model::observed::DpdkSupport;
use crate::model::owner::NicIdentity;
use crate::model::port::{DeviceName, DeviceRole, PortBackend};
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_crds::{EngineKind, NicDriver, NodeUplink, UplinkName};

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
        lower: None,
        mtu: 1500,
        is_up: true,
        is_promiscuous: false,
        has_carrier: true,
        addresses: [].into(),
        has_default_route: false,
        offloads: ObservedOffloads::default(),
        queues: 1,
        has_program: false,
        numa_node: None,
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

/// The uplinks of a node without a PCI bus.
fn resolve_all(
    requests: &[UplinkRequest<'_>],
    others: &[Arc<NodeUplink>],
    kernel: &ObservedNics,
) -> BTreeMap<UplinkName, ResolvedMember> {
    let node = NodeNics { kernel, pci: &ObservedPci::default(), dpdk: &DpdkSupport::default(), bound: &[] };
    resolve(requests, others, node).into_iter().map(|(name, resolved)| (name, only(resolved))).collect()
}

/// The NIC of an uplink without a bond.
fn only(mut resolved: ResolvedUplink) -> ResolvedMember {
    assert_eq!((resolved.members.len(), resolved.bond), (1, None));
    resolved.members.pop().unwrap()
}

fn joined_nic(device: &str, index: u32) -> JoinedNic {
    let backend = PortBackend::Device { device: DeviceName::observed(device) };
    JoinedNic { identity: NicIdentity::KernelIndex(index), backend }
}

fn one(uplink: &NodeUplink, joined: Option<(&str, u32)>, observed: &ObservedNics) -> ResolvedMember {
    resolve_with(uplink, joined, false, observed)
}

fn resolve_with(
    uplink: &NodeUplink,
    joined: Option<(&str, u32)>,
    is_untagged: bool,
    observed: &ObservedNics,
) -> ResolvedMember {
    let joined = joined.map(|(port, index)| joined_nic(port, index));
    let request = UplinkRequest { uplink, is_used: true, is_untagged, joined: joined.as_ref() };
    resolve_all(&[request], &[], observed).remove(&uplink.name).unwrap()
}

fn index(resolved: &ResolvedMember) -> Option<u32> {
    resolved.kernel_nic().map(|nic| nic.index)
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

/// The node with a device of the kernel for a VLAN of `eth1`.
fn with_vlan(is_up: bool) -> ObservedNics {
    let mut node = node();
    node.nics.insert(9, ObservedNic { is_physical: false, lower: Some(7), is_up, ..nic("eth1.7", 1) });
    node
}

/// Also not one that is a veth pair: each end is on the other.
#[test]
fn a_device_on_a_nic_that_is_down_is_no_use_of_it() {
    assert_eq!(one(&named("eth1"), None, &with_vlan(false)).blocker, None);
    let mut pair = node();
    pair.nics.get_mut(&8).unwrap().lower = Some(7);
    assert_eq!(one(&named("eth1"), None, &pair).blocker, None);
}

#[test]
fn a_nic_that_the_node_uses_is_refused_and_says_what_for() {
    let address = "10.0.0.7/24".parse().unwrap();
    for (observed, text) in [
        (changed(|nic| nic.addresses = [address].into()), "has address 10.0.0.7"),
        (changed(|nic| nic.has_default_route = true), "has a default route"),
        (changed(|nic| nic.master = Some(8)), "belongs to eth2"),
        (with_vlan(true), "has device eth1.7 on it"),
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
    assert!([missing, lost, renamed].iter().all(|resolved| resolved.kernel_nic().is_none()));
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
    let unused = resolve_all(&[unused], &[], &down).into_values().next().unwrap();
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
    let owner = |resolved: BTreeMap<UplinkName, ResolvedMember>| {
        let have: Vec<_> = resolved
            .iter()
            .filter(|(_, resolved)| resolved.kernel_nic().is_some())
            .map(|(name, _)| name.to_string())
            .collect();
        let taken = resolved.values().any(|resolved| matches!(resolved.blocker, Some(NicBlocker::Taken { .. })));
        (have, taken)
    };
    let new = resolve_all(&[request(&first, None), request(&second, None)], &[], &node());
    assert_eq!(owner(new), (vec!["a".to_owned()], true));
    let later = resolve_all(&[request(&first, None), request(&second, Some(&joined))], &[], &node());
    assert_eq!(owner(later), (vec!["b".to_owned()], true));
    // Uplinks of the other engine come first, also if this one has it.
    let both = resolve_all(&[request(&first, Some(&joined))], &[Arc::new(named("eth1"))], &node());
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
    let unused = resolve_all(&[unused], &[], &observed).remove(&fab.name).unwrap();
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
    let all = ReceiveOffload::ALL.into_iter().filter(|offload| offload.harms(NicDriver::AfPacket));
    assert_eq!(all.map(ReceiveOffload::kernel_name).collect::<Vec<_>>(), DeviceRole::Nic.offloads_off());
}

#[test]
fn a_nic_by_af_xdp_has_a_socket_for_each_queue_and_keeps_its_tags() {
    use ReceiveOffload::{Gro, TagStripping};
    let mut uplink = named("eth1");
    uplink.nic.driver = NicDriver::AfXdp;
    let on = |changeable: &[ReceiveOffload]| ObservedOffloads {
        on: [Gro, TagStripping].into(),
        changeable: changeable.iter().copied().collect(),
    };
    let observed = changed(|nic| (nic.queues, nic.offloads) = (4, on(&[Gro, TagStripping])));
    let resolved = one(&uplink, None, &observed);
    assert_eq!(resolved.must_disable, [TagStripping].into(), "merging comes after AF_XDP");
    let desired = resolved.nic.as_ref().unwrap().desired(&uplink.name);
    assert_eq!(desired.receive_queues.map(i64::from), Some(4));
    assert!(matches!(desired.backend, PortBackend::AfXdp { .. }), "{:?}", desired.backend);
    let fixed = changed(|nic| nic.offloads = on(&[]));
    let name = || DeviceName::observed("eth1");
    assert_eq!(one(&uplink, None, &fixed).blocker, Some(NicBlocker::StripsTags { nic: name() }));
    let taken = changed(|nic| nic.has_program = true);
    let refused = one(&uplink, None, &taken);
    assert_eq!((refused.may_join, refused.blocker), (false, Some(NicBlocker::HasProgram { nic: name() })));
    // That of the engine itself, also of one that was killed.
    let backend = PortBackend::AfXdp { device: name(), mode: uplink.nic.xdp_mode };
    let joined = JoinedNic { identity: NicIdentity::KernelIndex(7), backend };
    let request = UplinkRequest { uplink: &uplink, is_used: true, is_untagged: false, joined: Some(&joined) };
    let again = resolve_all(&[request], &[], &taken).remove(&uplink.name).unwrap();
    assert_eq!((again.may_join, again.blocker), (true, None));
    assert_eq!(joined.released().map(|nic| nic.had_program), Some(true));
    assert_eq!(one(&named("eth1"), None, &taken).blocker, None, "a packet socket is behind it");
}
