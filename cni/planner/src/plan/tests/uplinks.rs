//! Networks on uplinks: examples, golden plans, and any drift.

use super::golden::{Scenario, check, known, programmed};
use super::model::{Model, is_nic};
use super::properties::{converge, rank};
use crate::model::desired::Desired;
use crate::model::observed::Observed;
use crate::model::port::{DesiredPort, DeviceName, PortBackend, PortName, PortPolicy};
use crate::model::tagging::Tagging;
use crate::model::uplink::{DesiredNic, DesiredUplink};
use crate::plan::{Op, PlanContext, UplinkBlocker, diff, uplink_blockers};
use crate::testing::network;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use usnet_crds::{EngineKind, NetworkUplink, NodeNetwork, UplinkName, VlanTag};

fn on_uplink(engine: EngineKind, name: &str, vlan: Option<i64>) -> NodeNetwork {
    let vlan = vlan.map(|tag| VlanTag::try_from(tag).unwrap());
    NodeNetwork { engine, uplink: Some(NetworkUplink { name: "fab".parse().unwrap(), vlan }), ..network(name) }
}

/// These networks on uplink `fab` of Open vSwitch, whose NIC has this index; without one it is not
/// there.
fn desired(networks: &[(&str, Option<i64>)], nic: Option<(&str, u32)>) -> Desired {
    desired_in(EngineKind::OpenVswitch, networks, nic)
}

fn desired_in(engine: EngineKind, networks: &[(&str, Option<i64>)], nic: Option<(&str, u32)>) -> Desired {
    let networks: Vec<_> = networks.iter().map(|(name, vlan)| on_uplink(engine, name, *vlan)).collect();
    let patches: Vec<_> =
        networks.iter().filter_map(|network| DesiredPort::of_patch(network, PortPolicy::Ensure)).collect();
    let nic = nic.map(|(device, index)| DesiredNic::kernel(&DeviceName::observed(device), index, [2, 0, 0, 0, 0, 1]));
    let vlans = networks.iter().filter_map(|network| Some(network.uplink.as_ref()?.vlan));
    let uplink = DesiredUplink::of(engine, &"fab".parse().unwrap(), nic, vlans);
    Desired::new(networks, []).with_uplinks(uplink).with_ports(patches)
}

const ETH1: Option<(&str, u32)> = Some(("eth1", 7));

fn texts(desired: &Desired, observed: &Observed) -> Vec<String> {
    diff(desired, observed).iter().map(ToString::to_string).collect()
}

/// The engine with networks blue (VLAN 100) and red (VLAN 200).
fn two() -> Observed {
    programmed(EngineKind::OpenVswitch, &desired(&[("blue", Some(100)), ("red", Some(200))], ETH1))
}

fn golden(name: &str, about: &'static str, desired: Desired, observed: Observed, context: PlanContext) {
    check(name, &Scenario { about, desired, observed, context });
}

#[test]
fn uplink_new() {
    let about = "A new uplink with a network in a VLAN and one without.";
    let spec = desired(&[("blue", Some(100)), ("red", None)], ETH1);
    golden("uplink_new", about, spec, Observed::default(), PlanContext::default());
}

/// A NIC that the switch drives itself is known by its address, and its port by its uplink.
fn of_dpdk(function: u8, mtu: Option<i64>) -> Desired {
    let uplink: UplinkName = "fab".parse().unwrap();
    let address = format!("0000:02:00.{function}").parse().unwrap();
    let nic = DesiredNic::dpdk(&uplink, address, mtu.map(|mtu| mtu.try_into().unwrap()), None);
    let spec = desired(&[("blue", Some(100))], None);
    let with_nic = DesiredUplink::of(EngineKind::OpenVswitch, &uplink, Some(nic), [Some(100.try_into().unwrap())]);
    spec.with_uplinks(with_nic)
}

#[test]
fn a_nic_of_dpdk_is_joined_with_its_mtu_and_changed_in_place() {
    let join = "join NIC 0000:02:00.0 of uplink fab to bridge br-up-fab for VLANs 100";
    assert!(texts(&of_dpdk(0, None), &Observed::default()).contains(&join.to_owned()));
    let programmed = programmed(EngineKind::OpenVswitch, &of_dpdk(0, None));
    assert_eq!(texts(&of_dpdk(0, None), &programmed), [""; 0]);
    let changed = texts(&of_dpdk(0, Some(9000)), &programmed);
    let [only] = changed.as_slice() else { panic!("{changed:?}") };
    assert!(only.starts_with("set VLANs 100, MTU 9000, 1 receive queue on NIC usp-"), "{only}");
    let moved = texts(&of_dpdk(1, None), &programmed);
    let [removed, joined] = moved.as_slice() else { panic!("{moved:?}") };
    assert!(removed.starts_with("remove port usp-") && joined.contains("0000:02:00.1"), "{moved:?}");
    // Without a NIC to join, the one that the switch has stays.
    assert_eq!(texts(&desired(&[("blue", Some(100))], None), &programmed), [""; 0]);
}

#[test]
fn uplink_another_network() {
    let about = "Another network: only its own ports are created, and the NIC lets its VLAN through.";
    let spec = desired(&[("blue", Some(100)), ("green", Some(300)), ("red", Some(200))], ETH1);
    golden("uplink_another_network", about, spec, two(), PlanContext::default());
}

#[test]
fn uplink_last_network() {
    let about = "The last network leaves: the NIC before its last VLAN, never a trunk of all VLANs.";
    let observed = programmed(EngineKind::OpenVswitch, &desired(&[("blue", Some(100))], ETH1));
    golden("uplink_last_network", about, Desired::default(), observed, PlanContext::default());
}

#[test]
fn uplink_nic_recreated() {
    let about = "The NIC was deleted and created again: its port is, too.";
    let spec = desired(&[("blue", Some(100)), ("red", Some(200))], Some(("eth1", 9)));
    golden("uplink_nic_recreated", about, spec, two(), known());
}

#[test]
fn uplink_drift() {
    let about = "Others removed a patch port, and made the NIC a trunk of all VLANs.";
    let mut observed = two();
    let fab = observed.bridges.get_mut("br-up-fab").unwrap();
    fab.ports.remove(&PortName::of_uplink_end(&"blue".parse().unwrap()));
    fab.ports.get_mut(&PortName::observed("eth1")).unwrap().settings.tagging = Tagging::Untagged;
    let context = PlanContext { programmed_uplinks: ["fab".parse().unwrap()].into(), ..known() };
    golden("uplink_drift", about, desired(&[("blue", Some(100)), ("red", Some(200))], ETH1), observed, context);
}

/// VPP with networks blue (VLAN 100) and red (no VLAN).
fn vpp_networks() -> [(&'static str, Option<i64>); 2] {
    [("blue", Some(100)), ("red", None)]
}

fn two_in_vpp() -> Observed {
    programmed(EngineKind::Vpp, &desired_in(EngineKind::Vpp, &vpp_networks(), ETH1))
}

#[test]
fn uplink_of_vpp() {
    let about = "VPP was restarted: a network joins its uplink when its bridge domain is complete, and pods come last.";
    let spec = desired_in(EngineKind::Vpp, &vpp_networks(), ETH1);
    let context = PlanContext { restarted: Some(2), ..known() };
    golden("uplink_of_vpp", about, spec, Observed::default(), context);
}

#[test]
fn uplink_of_vpp_nic_recreated() {
    let about =
        "The NIC of VPP was deleted and created again: what depends on it goes before it, and comes back after it.";
    let spec = desired_in(EngineKind::Vpp, &vpp_networks(), Some(("eth1", 9)));
    golden("uplink_of_vpp_nic_recreated", about, spec, two_in_vpp(), known());
}

#[test]
fn uplink_of_vpp_last_network() {
    let about = "The last networks leave: nothing of the uplink stays.";
    golden("uplink_of_vpp_last_network", about, Desired::default(), two_in_vpp(), PlanContext::default());
}

#[test]
fn what_others_set_down_in_vpp_is_set_up_in_place() {
    let spec = desired_in(EngineKind::Vpp, &vpp_networks(), ETH1);
    let mut observed = two_in_vpp();
    observed.unbridged_ports.get_mut(&PortName::observed("eth1")).unwrap().settings.is_enabled = false;
    let blue = PortName::of_network_end(&"blue".parse().unwrap());
    observed.bridges.get_mut("br-blue").unwrap().ports.get_mut(&blue).unwrap().settings.is_enabled = false;
    assert_eq!(
        texts(&spec, &observed),
        ["join NIC eth1 of uplink fab", "connect network blue to uplink fab in VLAN 100"]
    );
    let mut vpp = Model { kind: EngineKind::Vpp, observed };
    vpp.apply_all(&diff(&spec, &vpp.observed)).unwrap();
    assert_eq!(vpp.observed, two_in_vpp());
}

#[test]
fn a_nic_that_another_interface_of_vpp_has_is_left_to_it() {
    let spec = desired_in(EngineKind::Vpp, &vpp_networks(), ETH1);
    let taken_devices = [(DeviceName::observed("eth1"), "host-eth1".to_owned())].into();
    let observed = Observed { taken_devices, ..Observed::default() };
    let bridges = ["create bridge br-blue for network blue", "create bridge br-red for network red"];
    assert_eq!(texts(&spec, &observed), bridges);
    let holder = "interface host-eth1 of the engine".to_owned();
    let taken = UplinkBlocker::NicTaken { nic: PortName::observed("eth1"), holder };
    assert_eq!(uplink_blockers(&spec, &observed), [("fab".parse().unwrap(), taken)].into());
}

#[test]
fn without_a_nic_to_join_nothing_is_created_and_what_is_there_stays() {
    let networks = [("blue", Some(100)), ("red", Some(200))];
    for engine in EngineKind::ALL {
        let (blocked, mut empty) = (desired_in(engine, &networks, None), Model::empty(engine));
        empty.apply_all(&diff(&Desired::new([network("blue"), network("red")], []), &Observed::default())).unwrap();
        assert_eq!(texts(&blocked, &empty.observed), Vec::<String>::new());
        let complete = programmed(engine, &desired_in(engine, &networks, ETH1));
        assert_eq!(texts(&blocked, &complete), Vec::<String>::new());
    }
}

#[test]
fn a_network_that_may_not_be_connected_is_not_and_one_that_is_stays() {
    let mut spec = desired(&[("blue", Some(100)), ("red", Some(200))], ETH1);
    spec.ports.values_mut().filter(|port| port.owner.network == "red".parse().ok()).for_each(|port| {
        port.policy = PortPolicy::Keep;
    });
    assert_eq!(texts(&spec, &two()), Vec::<String>::new());
    let only_blue = programmed(EngineKind::OpenVswitch, &spec);
    assert_eq!(only_blue.bridges["br-red"].ports.len(), 0);
}

#[test]
fn what_others_have_is_not_changed_and_is_reported() {
    let spec = desired(&[("blue", Some(100))], ETH1);
    let mut observed = two();
    let bridge = observed.bridges.get_mut("br-up-fab").unwrap();
    bridge.owner = None;
    bridge.ports.values_mut().for_each(|port| port.owner = None);
    let operations = texts(&spec, &observed);
    let touches = |operation: &String| operation.contains("br-up-fab") || operation.contains("eth1");
    assert!(!operations.iter().any(touches), "{operations:?}");
    let exists = UplinkBlocker::BridgeExists { bridge: "br-up-fab".to_owned() };
    assert_eq!(uplink_blockers(&spec, &observed), [("fab".parse().unwrap(), exists)].into());

    let mut observed = programmed(EngineKind::OpenVswitch, &Desired::new([network("other")], []));
    let nic = two().bridges["br-up-fab"].ports[&PortName::observed("eth1")].clone();
    let other = observed.bridges.get_mut("br-other").unwrap();
    other.owner = None;
    other.ports.insert(PortName::observed("eth1"), crate::model::observed::ObservedPort { owner: None, ..nic });
    assert!(texts(&spec, &observed).iter().all(|operation| !operation.contains("eth1")));
    let taken = UplinkBlocker::NicTaken { nic: PortName::observed("eth1"), holder: "bridge br-other".to_owned() };
    assert_eq!(uplink_blockers(&spec, &observed), [("fab".parse().unwrap(), taken)].into());
}

fn networks_strategy() -> impl Strategy<Value = Vec<(&'static str, Option<i64>)>> {
    let vlan = select(vec![None, Some(100), Some(200)]);
    btree_map(select(vec!["blue", "green", "red"]), vlan, 0..=3).prop_map(|networks| networks.into_iter().collect())
}

fn nic_strategy() -> impl Strategy<Value = Option<(&'static str, u32)>> {
    select(vec![None, ETH1, Some(("eth1", 9)), Some(("eth2", 8))])
}

/// What others do to one object.
fn disturb(observed: &mut Observed, kind: u8, index: &Index) {
    if kind == 0 && index.index(2) == 0 {
        observed.unbridged_ports.clear();
        observed
            .bridges
            .values_mut()
            .for_each(|bridge| bridge.ports.retain(|_, port| matches!(port.backend, Some(PortBackend::Patch { .. }))));
        return;
    }
    let bridges = observed.bridges.len();
    let Some(bridge) = observed.bridges.values_mut().nth(index.index(bridges.max(1))) else { return };
    let ports = bridge.ports.len();
    let Some(name) = bridge.ports.keys().nth(index.index(ports.max(1))).cloned() else {
        bridge.has_supported_datapath = kind == 0;
        return;
    };
    let port = bridge.ports.get_mut(&name).unwrap();
    match kind {
        0 => drop(bridge.ports.remove(&name)),
        1 => port.settings.tagging = Tagging::Untagged,
        2 if matches!(port.backend, Some(PortBackend::Patch { .. })) => {
            port.backend = Some(PortBackend::Patch { peer: PortName::observed("other") });
        }
        2 => {}
        _ => bridge.has_supported_datapath = false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// From any state of uplinks to any other, with drift in between; after each operation no NIC
    /// is a trunk of all VLANs unless others made it one.
    #[test]
    fn uplinks_converge_and_no_nic_lets_all_vlans_through(
        (before, nic) in (networks_strategy(), nic_strategy()),
        (after, new_nic) in (networks_strategy(), nic_strategy()),
        drift in vec((0_u8..4, any::<Index>()), 0..3),
        kind in select(EngineKind::ALL.to_vec()),
    ) {
        let mut engine = Model::empty(kind);
        engine.observed = converge(&desired_in(kind, &before, nic), engine.clone())?;
        // A NIC of VPP is in no bridge domain.
        let was_open = |observed: &Observed| observed.bridges.values().flat_map(|bridge| bridge.ports.values()).filter(|port| is_nic(port)).any(|port| port.settings.tagging == Tagging::Untagged);
        drift.iter().for_each(|(kind, index)| disturb(&mut engine.observed, *kind, index));
        let spec = desired_in(kind, &after, new_nic);
        let operations = diff(&spec, &engine.observed);
        prop_assert!(operations.iter().map(rank).is_sorted());
        let open_before = was_open(&engine.observed);
        for operation in &operations {
            engine.apply_all(std::slice::from_ref(operation)).map_err(TestCaseError::fail)?;
            prop_assert!(open_before || !was_open(&engine.observed), "{}", operation);
        }
        prop_assert!(!was_open(&engine.observed));
        prop_assert_eq!(diff(&spec, &engine.observed), Vec::<Op>::new());
        if new_nic.is_some() && !after.is_empty() {
            let ports: usize = engine.observed.bridges.values().map(|bridge| bridge.ports.len()).sum();
            let expected = if kind == EngineKind::Vpp { after.len() } else { 2 * after.len() + 1 };
            prop_assert_eq!(ports, expected);
            prop_assert_eq!(engine.observed.unbridged_ports.len(), usize::from(kind == EngineKind::Vpp));
        }
    }
}
