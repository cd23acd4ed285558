use super::model::Model;
use crate::model::attachment::{Progress, Record};
use crate::model::bridge_settings::{BridgeMtu, MacTable};
use crate::model::desired::Desired;
use crate::model::observed::Observed;
use crate::model::port::PortName;
use crate::model::tagging::Tagging;
use crate::plan::{blockers, diff};
use crate::testing::{attachment, network, record};
use usnet_crds::{EngineKind, MacAge, MacLearning, Mtu, NodeNetwork, Ownership, Vlan, VlanTag};

fn engine_with(desired: &Desired) -> Observed {
    engine_of_kind(EngineKind::OpenVswitch, desired)
}

fn engine_of_kind(kind: EngineKind, desired: &Desired) -> Observed {
    let mut engine = Model::empty(kind);
    engine.apply_all(&diff(desired, &engine.observed)).unwrap();
    engine.observed
}

fn text(desired: &Desired, engine: &Observed) -> Vec<String> {
    diff(desired, engine).iter().map(ToString::to_string).collect()
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
fn a_deleted_network_is_deleted_with_its_ports() {
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
    assert_eq!(diff(&Desired::new([], &records), &engine), []);
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
            "set MTU 9000, MAC learning Enabled of 8192 addresses for 300 s and the kind of bridge br-blue of network blue",
            "set MTU 9000, VLAN 7 and no rate limit on port vhu3c7bbaa36bb of c1.net1",
        ]
    );
}

#[test]
fn a_bridge_whose_mac_addresses_should_age_otherwise_changes_in_place() {
    let mut blue = network("blue");
    let mut engine = engine_with(&Desired::new([blue.clone()], []));
    blue.bridge.mac_age_seconds = MacAge::try_from(600).unwrap();
    blue.bridge.mac_learning = MacLearning::Disabled;
    let changed = [
        "set MTU 1500, MAC learning Disabled of 8192 addresses for 600 s and the kind of bridge br-blue of network blue",
    ];
    assert_eq!(text(&Desired::new([blue], []), &engine), changed);
    // An earlier release without a MAC age wrote no such entry.
    engine.bridges.get_mut("br-blue").unwrap().settings.mac_age_seconds = None;
    assert_eq!(diff(&Desired::new([network("blue")], []), &engine).len(), 1);
}

#[test]
fn a_mac_table_of_another_size_is_drift_and_one_that_cannot_be_read_is_not() {
    let desired = Desired::new([network("blue")], []);
    let expected = [
        "set MTU 1500, MAC learning Enabled of 8192 addresses for 300 s and the kind of bridge br-blue of network blue",
    ];
    for (table, repaired) in [
        (MacTable::Limited(8192), &[][..]),
        (MacTable::Limited(16_777_216), &expected),
        (MacTable::Unset, &expected),
        (MacTable::Unreadable, &[]),
    ] {
        let mut engine = engine_with(&desired);
        engine.bridges.get_mut("br-blue").unwrap().settings.mac_table = table;
        assert_eq!(text(&desired, &engine), repaired, "{table:?}");
    }
}

#[test]
fn an_engine_whose_bridges_have_no_mtu_needs_no_update() {
    let mut blue = network("blue");
    let engine = engine_of_kind(EngineKind::Vpp, &Desired::new([blue.clone()], &[record("c1", &blue)]));
    assert_eq!(engine.bridges["br-blue"].settings.mtu, BridgeMtu::OfPortsOnly);
    blue.bridge.mtu = Mtu::try_from(9000).unwrap();
    let desired = Desired::new([blue.clone()], &[record("c1", &blue)]);
    assert_eq!(text(&desired, &engine), ["set MTU 9000, no VLAN and no rate limit on port vhu3c7bbaa36bb of c1.net1"]);
}

#[test]
fn a_port_set_down_by_others_is_set_up() {
    let desired = Desired::new([network("blue")], &[record("c1", &network("blue"))]);
    let mut engine = engine_of_kind(EngineKind::Vpp, &desired);
    let ports = &mut engine.bridges.get_mut("br-blue").unwrap().ports;
    ports.get_mut(&PortName::of(&attachment("c1"))).unwrap().settings.is_enabled = false;
    assert_eq!(text(&desired, &engine), ["set MTU 1500, no VLAN and no rate limit on port vhu3c7bbaa36bb of c1.net1"]);
}

#[test]
fn a_vlan_mode_set_by_others_is_repaired() {
    let desired = Desired::new([network("blue")], &[record("c1", &network("blue"))]);
    let mut engine = engine_with(&desired);
    let ports = &mut engine.bridges.get_mut("br-blue").unwrap().ports;
    ports.get_mut(&PortName::of(&attachment("c1"))).unwrap().settings.tagging = Tagging::Other;
    assert_eq!(text(&desired, &engine), ["set MTU 1500, no VLAN and no rate limit on port vhu3c7bbaa36bb of c1.net1"]);
}

fn adopting(bridge: &str) -> NodeNetwork {
    let mut blue = network("blue");
    (blue.bridge.name, blue.bridge.ownership) = (bridge.parse().unwrap(), Ownership::Adopted);
    blue
}

/// `br0` as created by others.
fn foreign_bridge() -> Observed {
    let mut other = network("other");
    other.bridge.name = "br0".parse().unwrap();
    let mut engine = engine_with(&Desired::new([other], []));
    engine.bridges.get_mut("br0").unwrap().owner = None;
    engine
}

#[test]
fn ports_of_an_adopted_bridge_are_created_and_deleted_and_it_is_not_changed() {
    let mut engine = foreign_bridge();
    let bridge = engine.bridges.get_mut("br0").unwrap();
    bridge.has_supported_datapath = false;
    (bridge.settings.mtu, bridge.settings.mac_age_seconds) = (BridgeMtu::Set(2000), Some(20));
    let before = engine.clone();
    let records = [record("c1", &adopting("br0"))];
    let desired = Desired::new([adopting("br0")], &records);
    assert_eq!(text(&desired, &engine), ["create port vhu3c7bbaa36bb of c1.net1 on bridge br0"]);
    let mut model = Model { kind: EngineKind::OpenVswitch, observed: engine };
    model.apply_all(&diff(&desired, &model.observed)).unwrap();
    assert_eq!((diff(&desired, &model.observed), blockers(&desired, &model.observed).len()), (vec![], 0));
    // The ports of a deleted network are kept while its pods are attached, and deleted with their
    // attachments; other ports on the bridge are kept.
    assert_eq!(diff(&Desired::new([], &records), &model.observed), []);
    assert_eq!(text(&Desired::default(), &model.observed), ["remove port vhu3c7bbaa36bb of c1.net1 from bridge br0"]);
    model.apply_all(&diff(&Desired::default(), &model.observed)).unwrap();
    assert_eq!(model.observed, before);
}

#[test]
fn a_bridge_that_cannot_be_adopted_is_a_blocker_and_is_not_changed() {
    let desired = Desired::new([adopting("br0")], &[record("c1", &adopting("br0"))]);
    let blocker = |engine: &Observed| {
        assert_eq!(diff(&desired, engine), []);
        blockers(&desired, engine)["blue".parse().as_ref().unwrap()].to_string()
    };
    let missing = blocker(&Observed::default());
    assert!(missing.starts_with("bridge br0 does not exist on this node"), "{missing}");

    let mut kernel = foreign_bridge();
    kernel.bridges.get_mut("br0").unwrap().adoption_blocker = Some("its datapath_type is \"system\"".into());
    let adoption_blocker = blocker(&kernel);
    assert!(
        adoption_blocker.starts_with("bridge br0 cannot be adopted: its datapath_type is \"system\""),
        "{adoption_blocker}"
    );
}

#[test]
fn an_owned_bridge_cannot_be_adopted_by_another_network() {
    let mut red = network("red");
    red.bridge.name = "br0".parse().unwrap();
    let desired = Desired::new([adopting("br0"), red.clone()], &[record("c1", &adopting("br0"))]);
    let engine = engine_with(&Desired::new([red], []));
    assert_eq!(diff(&desired, &engine), []);
    let blocker = blockers(&desired, &engine)["blue".parse().as_ref().unwrap()].to_string();
    assert!(blocker.contains("owned by usnet for network red"), "{blocker}");
}

#[test]
fn what_a_pods_name_fixes_is_its_ports_alone() {
    let fixed = serde_json::json!([{
        "namespace": "default", "pod": "c1", "vlan": {"mode": "Trunk", "trunks": [7, 8]}, "rateLimit": {"egressKbps": 1000},
    }]);
    let attachments = serde_json::from_value(fixed).unwrap();
    let blue = NodeNetwork { attachments, ..with_vlan(network("blue"), 5) };
    let engine = engine_with(&Desired::new(
        [network("blue")],
        &[record("c1", &network("blue")), record("c2", &network("blue"))],
    ));
    let desired = Desired::new([blue.clone()], &[record("c1", &blue), record("c2", &blue)]);
    let trunk = "set MTU 1500, a trunk of VLANs 7, 8 and a limit of 1000 kbit/s from the pod on port";
    let access = "set MTU 1500, VLAN 5 and no rate limit on port";
    let expected = [trunk, access].map(str::to_owned).into_iter().zip(["c1", "c2"]);
    let expected = expected.map(|(what, pod)| format!("{what} {} of {pod}.net1", PortName::of(&attachment(pod))));
    assert_eq!(text(&desired, &engine), expected.collect::<Vec<_>>());
}

#[test]
fn a_port_that_the_plugin_is_creating_is_not_changed() {
    let records = [Record { progress: Progress::Attaching, ..record("c1", &network("blue")) }];
    let desired = Desired::new([network("blue")], &records);
    let engine = engine_with(&Desired::new([network("blue")], []));
    assert_eq!(diff(&desired, &engine), []);
    let with_port = engine_with(&Desired::new([network("blue")], &[record("c1", &network("blue"))]));
    assert_eq!(diff(&desired, &with_port), []);
}

#[test]
fn a_foreign_bridge_of_the_same_name_is_a_blocker_and_is_not_changed() {
    let desired = Desired::new([network("blue")], &[record("c1", &network("blue"))]);
    let mut engine = engine_with(&Desired::new([network("blue")], []));
    engine.bridges.get_mut("br-blue").unwrap().owner = None;
    assert_eq!(diff(&desired, &engine), []);
    let blocker = blockers(&desired, &engine)["blue".parse().as_ref().unwrap()].to_string();
    assert!(blocker.starts_with("bridge br-blue already exists on this node"), "{blocker}");
}

#[test]
fn a_foreign_port_keeps_a_deleted_bridge_and_is_named() {
    let mut engine = engine_with(&Desired::new([network("blue")], &[record("c1", &network("blue"))]));
    let ports = &mut engine.bridges.get_mut("br-blue").unwrap().ports;
    let foreign =
        crate::model::observed::ObservedPort { owner: None, ..ports[&PortName::of(&attachment("c1"))].clone() };
    ports.insert(PortName::observed("eth1"), foreign);
    let desired = Desired::default();
    assert_eq!(text(&desired, &engine), ["remove port vhu3c7bbaa36bb of c1.net1 from bridge br-blue"]);
    let blocker = blockers(&desired, &engine)["blue".parse().as_ref().unwrap()].to_string();
    assert_eq!(
        blocker,
        "bridge br-blue has 1 port(s) that are not owned by usnet (eth1); it is kept until they are removed"
    );
}
