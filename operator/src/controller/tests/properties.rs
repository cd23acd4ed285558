//! What holds for every cluster.

use super::super::compile::{Verdict, compile};
use super::super::diff::Write;
use super::super::feed::{Before, Feed};
use super::super::inputs::{Inputs, Network};
use super::from_nad::{open_vswitch, vpp, with_vlan};
use super::model::Cluster;
use kube::runtime::watcher::Event;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use usnet_crds::{Engine, NodeNetwork};

const NODES: [&str; 3] = ["node-a", "node-b", "node-c"];
/// The last is the name of the network that definitions make for the bridge `7`.
const NAMES: [&str; 5] = ["amber", "blue", "cyan", "red", "ovs-7"];
const NAMESPACES: [&str; 2] = ["team-a", "other"];
/// Of definitions. One is that of a network as well.
const DEFINITIONS: [&str; 3] = ["mine", "yours", "blue"];

/// Something that happens to a cluster.
#[derive(Debug, Clone)]
enum Happening {
    Network(usize, Value),
    Delete(usize),
    Attach(usize, usize, i64),
    Node(usize, bool),
    NodeLeaves(usize),
    NodeIsMadeAnew(usize),
    Engine(usize, Engine, bool),
    Agent(usize, bool),
    Label(bool),
    Namespace(bool),
    Foreign(usize),
    Definition(usize, usize, String),
    DefinitionGoes(usize, usize),
    FromNadLabel(usize, bool),
    /// Of a network that is being deleted, if there is one; with its name, or that of another.
    ForceDelete(usize, Option<bool>),
    Tamper(usize, Tampering),
    Passes(usize),
}

/// What somebody else does to a node state.
#[derive(Debug, Clone, Copy)]
enum Tampering {
    Delete,
    Disown,
    GiveToAnotherNode,
    Disorder,
    MakeUnreadable,
    TakeOut(usize),
    Change(usize),
}

fn spec() -> impl Strategy<Value = Value> {
    let selector = prop_oneof![Just(json!({})), Just(json!({"matchLabels": {"team": "a"}}))];
    let nodes =
        prop_oneof![Just(None), (0..NODES.len()).prop_map(|node| Some(json!({"matchLabels": {"host": NODES[node]}})))];
    // `7` is a name with one engine and an id with the other: two bridges.
    let shared = |engine| if engine == "OVS" { json!({"name": "7"}) } else { json!({"id": 7}) };
    let bridge = prop_oneof![Just("OVS"), Just("VPP")].prop_flat_map(move |engine| {
        let bridge = prop_oneof![Just(json!({})), Just(shared(engine)), Just(json!({"mtu": 1}))];
        (Just(engine), bridge)
    });
    (selector, nodes, bridge).prop_map(|(selector, nodes, (engine, bridge))| {
        let mut spec = json!({"engine": engine, "namespaceSelector": selector, "bridge": bridge});
        if let Some(nodes) = nodes {
            spec["nodeSelector"] = nodes;
        }
        spec
    })
}

fn event() -> impl Strategy<Value = Happening> {
    let (node, name, tampered) = (0..NODES.len(), 0..NAMES.len(), 0..NODES.len());
    prop_oneof![
        4 => (name.clone(), spec()).prop_map(|(name, spec)| Happening::Network(name, spec)),
        2 => name.clone().prop_map(Happening::Delete),
        2 => (node.clone(), name.clone(), 0..2i64).prop_map(|(node, name, count)| Happening::Attach(node, name, count)),
        1 => (node.clone(), any::<bool>()).prop_map(|(node, is_ready)| Happening::Node(node, is_ready)),
        1 => node.clone().prop_map(Happening::NodeLeaves),
        1 => node.clone().prop_map(Happening::NodeIsMadeAnew),
        1 => (node.clone(), prop::sample::select(Engine::ALL.as_slice()), any::<bool>())
            .prop_map(|(node, engine, has)| Happening::Engine(node, engine, has)),
        1 => (node, any::<bool>()).prop_map(|(node, runs)| Happening::Agent(node, runs)),
        1 => any::<bool>().prop_map(Happening::Label),
        1 => any::<bool>().prop_map(Happening::Namespace),
        1 => name.clone().prop_map(Happening::Foreign),
        3 => (0..NAMESPACES.len(), 0..DEFINITIONS.len(), config())
            .prop_map(|(namespace, name, config)| Happening::Definition(namespace, name, config)),
        1 => (0..NAMESPACES.len(), 0..DEFINITIONS.len())
            .prop_map(|(namespace, name)| Happening::DefinitionGoes(namespace, name)),
        1 => (name.clone(), any::<bool>()).prop_map(|(name, has)| Happening::FromNadLabel(name, has)),
        2 => (name.clone(), prop::option::weighted(0.8, prop::bool::weighted(0.7)))
            .prop_map(|(name, is_right)| Happening::ForceDelete(name, is_right)),
        2 => (tampered, tampering(name)).prop_map(|(node, how)| Happening::Tamper(node, how)),
        4 => (1..4usize).prop_map(Happening::Passes),
    ]
}

/// What hand-written definitions say.
fn config() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => Just(open_vswitch("7").to_string()),
        1 => Just(with_vlan(open_vswitch("7"), 7)),
        1 => Just(vpp("7").to_string()),
        1 => Just(json!({"type": "userspace", "network": "blue"}).to_string()),
        1 => Just(json!({"type": "bridge"}).to_string()),
        1 => Just("{".to_owned()),
    ]
}

fn tampering(name: Range<usize>) -> impl Strategy<Value = Tampering> {
    prop_oneof![
        Just(Tampering::Delete),
        Just(Tampering::Disown),
        Just(Tampering::GiveToAnotherNode),
        Just(Tampering::Disorder),
        Just(Tampering::MakeUnreadable),
        name.clone().prop_map(Tampering::TakeOut),
        name.prop_map(Tampering::Change),
    ]
}

fn tamper(cluster: &mut Cluster, node: &str, how: Tampering) {
    if matches!(how, Tampering::Delete) {
        cluster.inputs.states.remove(node);
    }
    let Some(state) = cluster.inputs.states.get_mut(node) else { return };
    match (how, &mut state.networks) {
        (Tampering::Disown, _) => state.owner = None,
        (Tampering::GiveToAnotherNode, _) => state.owner = Some("uid-of-another".to_owned()),
        (Tampering::Disorder, _) => state.is_disordered = true,
        (Tampering::MakeUnreadable, _) => (state.networks, state.status) = (None, None),
        (Tampering::TakeOut(name), Some(networks)) => drop(networks.remove(NAMES[name])),
        (Tampering::Change(name), Some(networks)) => {
            if let Some(network) = networks.get(NAMES[name]) {
                let changed = NodeNetwork { generation: 0, ..NodeNetwork::clone(network) };
                networks.insert(Arc::new(changed));
            }
        }
        _ => {}
    }
    state.generation += 1;
}

fn set<T: Ord>(set: &mut BTreeSet<T>, item: T, is_in: bool) {
    match is_in {
        true => drop(set.insert(item)),
        false => drop(set.remove(&item)),
    }
}

fn happen(cluster: &mut Cluster, event: Happening) {
    match event {
        Happening::Network(name, spec) => {
            if !cluster.inputs.networks.get(NAMES[name]).is_some_and(|network| network.is_deleting) {
                cluster.network(NAMES[name], &spec);
            }
        }
        Happening::Delete(name) => {
            if cluster.inputs.networks.get(NAMES[name]).is_some_and(|network| !network.is_deleting) {
                cluster.delete_network(NAMES[name]);
            }
        }
        Happening::Attach(node, name, count) => cluster.attach(NODES[node], NAMES[name], count),
        Happening::Node(node, is_ready) => cluster.node(NODES[node], is_ready),
        Happening::NodeLeaves(node) => drop(cluster.inputs.nodes.remove(NODES[node])),
        Happening::NodeIsMadeAnew(node) => {
            cluster.inputs.nodes.remove(NODES[node]);
            cluster.node(NODES[node], true);
        }
        Happening::Engine(node, engine, has) => {
            set(&mut cluster.without_engine, (NODES[node].to_owned(), engine), !has);
        }
        Happening::Agent(node, runs) => set(&mut cluster.without_agent, NODES[node].to_owned(), !runs),
        Happening::Label(has) => cluster.namespace("team-a", if has { &[("team", "a")] } else { &[] }),
        Happening::Namespace(is_deleting) => {
            cluster.inputs.namespaces.get_mut("other").unwrap().is_deleting = is_deleting;
        }
        Happening::Tamper(node, how) => tamper(cluster, NODES[node], how),
        Happening::Foreign(name) => {
            let key = super::model::key("other", NAMES[name]);
            if !cluster.inputs.definitions.as_ref().unwrap().contains_key(&key) {
                cluster.foreign_definition("other", NAMES[name]);
            }
        }
        Happening::Definition(namespace, name, config) => {
            cluster.definition(NAMESPACES[namespace], DEFINITIONS[name], &config);
        }
        Happening::DefinitionGoes(namespace, name) => {
            let key = super::model::key(NAMESPACES[namespace], DEFINITIONS[name]);
            cluster.inputs.definitions.as_mut().unwrap().remove(&key);
        }
        Happening::FromNadLabel(name, has) => edit(cluster, name, |network| network.has_from_nad_label = has),
        Happening::ForceDelete(name, is_right) => {
            let is_going = |name: &str| cluster.inputs.networks.get(name).is_some_and(|network| network.is_deleting);
            let name = NAMES.iter().position(|name| is_going(name)).unwrap_or(name);
            let value = is_right.map(|is_right| if is_right { NAMES[name] } else { "another" });
            edit(cluster, name, |network| network.force_delete = value.map(str::to_owned));
        }
        Happening::Passes(count) => {
            for _ in 0..count {
                watched_pass(cluster);
                cluster.agents();
            }
        }
    }
}

fn edit(cluster: &mut Cluster, name: usize, edit: impl FnOnce(&mut Network)) {
    if let Some(network) = cluster.inputs.networks.get_mut(NAMES[name]) {
        edit(network);
    }
}

/// A pass with all that must hold in it.
fn watched_pass(cluster: &mut Cluster) {
    let before = cluster.inputs.clone();
    let compiled = cluster.compiled();
    for (node, networks) in &compiled.nodes {
        let mut bridges: Vec<_> = networks.values().map(|network| (network.engine, &network.bridge.name)).collect();
        bridges.sort();
        bridges.dedup();
        assert_eq!(bridges.len(), networks.len(), "two networks share a bridge on {node}");
        for name in
            networks.keys().filter(|name| before.states.get(node).is_none_or(|state| state.held(name).is_none()))
        {
            assert!(before.networks[name].has_finalizer, "{name} came to {node} before its finalizer");
            assert_eq!(compiled.verdicts[name], Verdict::Active);
        }
        let in_use = before.states.get(node).and_then(|state| state.status.as_ref());
        for report in in_use.iter().flat_map(|status| status.reports.iter()).filter(|report| report.attachments > 0) {
            let was_held = before.states[node].held(&report.name).is_some();
            if was_held && before.networks.contains_key(&report.name) {
                assert!(networks.contains_key(&report.name), "pods on {node} lose {}", report.name);
            }
        }
    }
    for write in cluster.pass() {
        if let Write::Definition { key, .. } | Write::DeleteDefinition { key, .. } = write {
            let found = before.definitions.as_ref().unwrap().get(&key);
            assert!(found.is_none_or(|found| found.owner.is_some()), "wrote somebody else's {key}");
        }
    }
}

proptest! {
    #[test]
    fn every_cluster_settles_and_what_is_achieved_is_left_alone(events in prop::collection::vec(event(), 1..40)) {
        let mut cluster = Cluster::new();
        for event in events {
            happen(&mut cluster, event);
        }
        cluster.settle();
        prop_assert_eq!(cluster.pass(), Vec::new());
    }

    #[test]
    fn the_order_of_arrival_does_not_matter(specs in prop::collection::vec((0..NAMES.len(), spec()), 1..8), shuffle in any::<prop::sample::Index>()) {
        let mut cluster = Cluster::new();
        for (name, spec) in specs {
            cluster.network(NAMES[name], &spec);
            cluster.inputs.networks.get_mut(NAMES[name]).unwrap().has_finalizer = true;
        }
        let mut arriving: Vec<_> = cluster.inputs.networks.clone().into_iter().collect();
        let middle = shuffle.index(arriving.len());
        arriving.rotate_left(middle);
        let (mut feed, mut networks) = (Feed::default(), BTreeMap::new());
        for network in arriving {
            feed.take(&mut networks, &mut Before::new(), Event::Apply(network));
        }
        let other = Inputs { networks, ..cluster.inputs.clone() };
        prop_assert_eq!(cluster.compiled(), compile(&other));
    }
}
