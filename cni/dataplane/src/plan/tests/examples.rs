use super::model::Model;
use crate::attachment::{Progress, Record};
use crate::desired::Desired;
use crate::observed::{BridgeMtu, Observed, Tagging};
use crate::plan::{obstacles, plan};
use crate::port::PortName;
use crate::testing::{attachment, network, record};
use usnet_crds::{Engine, MacAge, MacLearning, Mtu, NodeNetwork, Vlan, VlanTag};

fn engine_with(desired: &Desired) -> Observed {
    engine_of_kind(Engine::OpenVswitch, desired)
}

fn engine_of_kind(kind: Engine, desired: &Desired) -> Observed {
    let mut engine = Model::empty(kind);
    engine.apply_all(&plan(desired, &engine.shown)).unwrap();
    engine.shown
}

fn text(desired: &Desired, engine: &Observed) -> Vec<String> {
    plan(desired, engine).iter().map(ToString::to_string).collect()
}

fn with_vlan(network: NodeNetwork, tag: i64) -> NodeNetwork {
    let vlan = Some(Vlan::Access { tag: VlanTag::try_from(tag).unwrap() });
    NodeNetwork { port: usnet_crds::Port { vlan, ..network.port.clone() }, ..network }
}

#[test]
fn an_empty_engine_gets_bridges_first_and_then_ports() {
    let records = [record("c1", &network("blue"))];
    let desired = Desired::new([network("red"), network("blue")], &records);
    assert_eq!(
        text(&desired, &Observed::default()),
        [
            "create bridge br-blue for network blue",
            "create bridge br-red for network red",
            "create port vhu3c7bbaa36bb of c1.net1 on bridge br-blue",
        ]
    );
}

#[test]
fn a_deleted_network_goes_with_its_ports() {
    let engine = engine_with(&Desired::new([network("blue")], &[record("c1", &network("blue"))]));
    assert_eq!(
        text(&Desired::default(), &engine),
        ["remove port vhu3c7bbaa36bb of c1.net1 from bridge br-blue", "remove bridge br-blue of network blue"]
    );
}

#[test]
fn a_deleted_network_stays_while_a_pod_uses_it() {
    let records = [record("c1", &network("blue"))];
    let engine = engine_with(&Desired::new([network("blue")], &records));
    assert_eq!(plan(&Desired::new([], &records), &engine), []);
    let detaching = [Record { progress: Progress::Detaching, ..records[0].clone() }];
    assert_eq!(text(&Desired::new([], &detaching), &engine).len(), 2);
}

#[test]
fn mtu_and_vlan_change_in_place() {
    let records = [record("c1", &network("blue"))];
    let engine = engine_with(&Desired::new([network("blue")], &records));
    let mut changed = with_vlan(network("blue"), 7);
    changed.bridge.mtu = Mtu::try_from(9000).unwrap();
    assert_eq!(
        text(&Desired::new([changed], &records), &engine),
        [
            "set MTU 9000, MAC learning Enabled for 300 s and the kind of bridge br-blue of network blue",
            "set MTU 9000 and VLAN 7 on port vhu3c7bbaa36bb of c1.net1",
        ]
    );
}

#[test]
fn a_bridge_whose_mac_addresses_should_age_otherwise_changes_in_place() {
    let mut blue = network("blue");
    let mut engine = engine_with(&Desired::new([blue.clone()], []));
    blue.bridge.mac_age_seconds = MacAge::try_from(600).unwrap();
    blue.bridge.mac_learning = MacLearning::Disabled;
    let changed = ["set MTU 1500, MAC learning Disabled for 600 s and the kind of bridge br-blue of network blue"];
    assert_eq!(text(&Desired::new([blue], []), &engine), changed);
    // A release of ours that knew no age made no entry about it.
    engine.bridges.get_mut("br-blue").unwrap().mac_age_seconds = None;
    assert_eq!(plan(&Desired::new([network("blue")], []), &engine).len(), 1);
}

#[test]
fn an_engine_whose_bridges_have_no_mtu_is_not_asked_for_one() {
    let mut blue = network("blue");
    let engine = engine_of_kind(Engine::Vpp, &Desired::new([blue.clone()], &[record("c1", &blue)]));
    assert_eq!(engine.bridges["br-blue"].mtu, BridgeMtu::OfPortsOnly);
    blue.bridge.mtu = Mtu::try_from(9000).unwrap();
    let desired = Desired::new([blue.clone()], &[record("c1", &blue)]);
    assert_eq!(text(&desired, &engine), ["set MTU 9000 and no VLAN on port vhu3c7bbaa36bb of c1.net1"]);
}

#[test]
fn a_port_that_somebody_switched_off_is_switched_on() {
    let desired = Desired::new([network("blue")], &[record("c1", &network("blue"))]);
    let mut engine = engine_of_kind(Engine::Vpp, &desired);
    let ports = &mut engine.bridges.get_mut("br-blue").unwrap().ports;
    ports.get_mut(&PortName::of(&attachment("c1"))).unwrap().is_enabled = false;
    assert_eq!(text(&desired, &engine), ["set MTU 1500 and no VLAN on port vhu3c7bbaa36bb of c1.net1"]);
}

#[test]
fn a_vlan_mode_that_somebody_set_is_put_right() {
    let desired = Desired::new([network("blue")], &[record("c1", &network("blue"))]);
    let mut engine = engine_with(&desired);
    let ports = &mut engine.bridges.get_mut("br-blue").unwrap().ports;
    ports.get_mut(&PortName::of(&attachment("c1"))).unwrap().tagging = Tagging::Other;
    assert_eq!(text(&desired, &engine), ["set MTU 1500 and no VLAN on port vhu3c7bbaa36bb of c1.net1"]);
}

#[test]
fn a_port_that_the_plugin_is_making_is_left_to_it() {
    let records = [Record { progress: Progress::Attaching, ..record("c1", &network("blue")) }];
    let desired = Desired::new([network("blue")], &records);
    let engine = engine_with(&Desired::new([network("blue")], []));
    assert_eq!(plan(&desired, &engine), []);
    let with_port = engine_with(&Desired::new([network("blue")], &[record("c1", &network("blue"))]));
    assert_eq!(plan(&desired, &with_port), []);
}

#[test]
fn a_foreign_bridge_of_the_same_name_is_an_obstacle_and_nothing_else() {
    let desired = Desired::new([network("blue")], &[record("c1", &network("blue"))]);
    let mut engine = engine_with(&Desired::new([network("blue")], []));
    engine.bridges.get_mut("br-blue").unwrap().mark = None;
    assert_eq!(plan(&desired, &engine), []);
    let obstacle = obstacles(&desired, &engine)["blue".parse().as_ref().unwrap()].to_string();
    assert!(obstacle.starts_with("bridge br-blue already exists on this node"), "{obstacle}");
}

#[test]
fn a_foreign_port_keeps_a_deleted_bridge_and_is_named() {
    let mut engine = engine_with(&Desired::new([network("blue")], &[record("c1", &network("blue"))]));
    let ports = &mut engine.bridges.get_mut("br-blue").unwrap().ports;
    let foreign = crate::observed::ObservedPort { mark: None, ..ports[&PortName::of(&attachment("c1"))].clone() };
    ports.insert(PortName::observed("eth1"), foreign);
    let desired = Desired::default();
    assert_eq!(text(&desired, &engine), ["remove port vhu3c7bbaa36bb of c1.net1 from bridge br-blue"]);
    let obstacle = obstacles(&desired, &engine)["blue".parse().as_ref().unwrap()].to_string();
    assert_eq!(
        obstacle,
        "bridge br-blue has 1 port(s) that usnet did not make (eth1); it stays until they are removed"
    );
}
