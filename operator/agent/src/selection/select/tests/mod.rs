use super::*;
use crate::selection::testing::{compiled, input_of};
use crate::testing::name;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

mod adopted;
mod properties;
mod uplinks;

fn on_bridge(bridge: &str, created: i64, compiled: Compiled) -> Compiled {
    let mut network = NodeNetwork::clone(&compiled.network);
    network.bridge.name = bridge.parse().unwrap();
    let created = Some(Time(Timestamp::from_second(created).unwrap()));
    Compiled { network: Arc::new(network), created, ..compiled }
}

fn with_phase(phase: Phase, compiled: Compiled) -> Compiled {
    Compiled { network: Arc::new(NodeNetwork { phase, ..NodeNetwork::clone(&compiled.network) }), ..compiled }
}

fn previous(networks: &[&Compiled]) -> NodeSpec {
    let mut networks: Vec<_> = networks.iter().map(|compiled| Arc::clone(&compiled.network)).collect();
    networks.sort_by(|one, other| one.name.cmp(&other.name));
    NodeSpec { generation: 1, networks, ..NodeSpec::default() }
}

fn select_with(input: &Input, previous: &NodeSpec, in_use: &[&str]) -> NodeSpec {
    let in_use = in_use.iter().map(|it| name(it)).collect();
    let per_node = &PerNodeNetworks::of(input);
    select(Facts { input, missing: &BTreeSet::new(), previous, in_use: &in_use, lost: &BTreeSet::new(), per_node })
}

fn summary_of(spec: &NodeSpec) -> Vec<String> {
    let networks = spec.networks.iter().map(|it| format!("{} {} {:?}", it.name, it.bridge.name, it.phase));
    networks.chain(spec.refused.iter().map(|it| format!("{} {}", it.name, it.reason))).collect()
}

#[test]
fn of_two_networks_that_request_one_bridge_the_older_gets_it() {
    let young = on_bridge("br0", 20, compiled(1, "a-young"));
    let old = on_bridge("br0", 10, compiled(2, "old"));
    let spec = select_with(&input_of(&[young, old.clone()]), &NodeSpec::default(), &[]);
    assert_eq!(summary_of(&spec), ["old br0 Active", "a-young BridgeConflict"]);
    let message = &spec.refused[0].message;
    assert!(message.starts_with("spec.bridge.name: bridge br0 already belongs to network old: "), "{message}");
    let twin = on_bridge("br0", 10, compiled(3, "twin"));
    let spec = select_with(&input_of(&[old, twin]), &NodeSpec::default(), &[]);
    assert_eq!(summary_of(&spec), ["old br0 Active", "twin BridgeConflict"], "of one age, the name decides");
}

#[test]
fn the_network_that_has_the_bridge_keeps_it() {
    let young = on_bridge("br0", 20, compiled(1, "young"));
    let old = on_bridge("br0", 10, compiled(2, "old"));
    let input = input_of(&[young.clone(), old.clone()]);
    assert_eq!(summary_of(&select_with(&input, &previous(&[&young]), &[])), ["young br0 Active", "old BridgeConflict"]);
    let leaving = input_of(&[with_phase(Phase::Draining, young.clone()), old]);
    let spec = select_with(&leaving, &previous(&[&young]), &["young"]);
    assert_eq!(summary_of(&spec), ["young br0 Draining", "old BridgeConflict"]);
    assert_eq!(summary_of(&select_with(&leaving, &spec, &[])), ["old br0 Active"]);
}

#[test]
fn bridges_of_two_engines_do_not_conflict() {
    let ovs = on_bridge("4", 10, compiled(1, "ovs"));
    let mut vpp = on_bridge("4", 20, compiled(2, "vpp"));
    vpp.network = Arc::new(NodeNetwork { engine: EngineKind::Vpp, ..NodeNetwork::clone(&vpp.network) });
    let twin = Compiled {
        network: Arc::new(NodeNetwork { name: name("x"), ..NodeNetwork::clone(&vpp.network) }),
        ..vpp.clone()
    };
    let spec = select_with(&input_of(&[ovs, vpp, twin]), &NodeSpec::default(), &[]);
    assert_eq!(summary_of(&spec), ["ovs 4 Active", "vpp 4 Active", "x BridgeConflict"]);
    assert!(spec.refused[0].message.starts_with("spec.bridge.id: bridge domain 4 already belongs to network vpp"));
}

#[test]
fn a_recreated_network_that_does_not_get_its_new_bridge_keeps_its_pods_on_the_old_one() {
    let before = [on_bridge("br1", 1, compiled(1, "a")), on_bridge("br2", 2, compiled(2, "b"))];
    let previous = previous(&[&before[0], &before[1]]);
    let after = [
        on_bridge("br2", 30, compiled(5, "a")),
        on_bridge("br2", 2, compiled(2, "b")),
        on_bridge("br1", 10, compiled(6, "c")),
    ];
    let spec = select_with(&input_of(&after), &previous, &["a", "b"]);
    assert_eq!(summary_of(&spec), ["a br1 Draining", "b br2 Active", "a BridgeConflict", "c BridgeConflict"]);
    let spec = select_with(&input_of(&after), &spec, &["b"]);
    assert_eq!(summary_of(&spec), ["b br2 Active", "c br1 Active", "a BridgeConflict"]);
}

#[test]
fn networks_can_swap_their_bridges() {
    let before = [on_bridge("br1", 1, compiled(1, "a")), on_bridge("br2", 2, compiled(2, "b"))];
    let previous = previous(&[&before[0], &before[1]]);
    let after = [on_bridge("br2", 3, compiled(5, "a")), on_bridge("br1", 4, compiled(6, "b"))];
    let spec = select_with(&input_of(&after), &previous, &["a", "b"]);
    assert_eq!(summary_of(&spec), ["a br2 Active", "b br1 Active"]);
}

#[test]
fn a_network_that_selects_the_node_no_more_stays_while_it_is_used() {
    let selector = kube::core::Selector::from(kube::core::Expression::Equal("rack".into(), "a".into()));
    let blue = Compiled { selector: Some(selector), ..compiled(3, "blue") };
    let mut input = input_of(std::slice::from_ref(&blue));
    input.labels.insert("rack".into(), "a".into());
    let spec = select_with(&input, &NodeSpec::default(), &[]);
    assert_eq!(summary_of(&spec), ["blue br-blue Active"]);
    (input.labels, input.generation) = (BTreeMap::new(), 2);
    let drains = select_with(&input, &spec, &["blue"]);
    assert_eq!((summary_of(&drains), drains.generation), (vec!["blue br-blue Draining".to_owned()], 2));
    assert_eq!(summary_of(&select_with(&input, &drains, &[])), Vec::<String>::new());
    input.labels.insert("rack".into(), "a".into());
    assert_eq!(summary_of(&select_with(&input, &drains, &["blue"])), ["blue br-blue Active"]);
}
