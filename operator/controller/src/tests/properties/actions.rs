//! Random actions on a cluster.

use super::super::super::cache::{Network, Uplink};
use super::super::legacy::{open_vswitch, vpp, with_vlan};
use super::super::model::Cluster;
use super::checked_pass;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ops::Range;
use usnet_crds::conditions::reason::NIC_MISSING;
use usnet_crds::{EngineKind, Namespaces};

const NODES: [&str; 3] = ["node-a", "node-b", "node-c"];
/// The last is the name of the generated network of the bridge `7`.
pub(super) const NAMES: [&str; 5] = ["amber", "blue", "cyan", "red", "ovs-7"];
const UPLINKS: [&str; 2] = ["fab", "lab"];
const NAMESPACES: [&str; 2] = ["team-a", "other"];
/// Of NADs. One is that of a network as well.
const NAD_NAMES: [&str; 3] = ["mine", "yours", "blue"];

const RESERVATIONS: [&str; 3] = ["first", "second", "third"];

/// An action on a cluster.
#[derive(Debug, Clone)]
pub(super) enum Action {
    Network(usize, NetworkAction),
    Attach(usize, usize, i64),
    Node(usize, bool),
    NodeLeaves(usize),
    NodeRecreated(usize),
    Engine(usize, EngineKind, bool),
    Agent(usize, bool),
    Label(bool),
    /// A label or the address of a node.
    NodeLabel(usize, bool),
    NodeAddress(usize, Option<u8>),
    Namespace(bool),
    /// An uplink is written, or deleted.
    Uplink(usize, Option<Value>),
    UplinkFails(usize, usize, bool),
    Foreign(usize),
    /// A user writes one, or deletes it.
    Nad(usize, usize, Option<String>),
    /// A reservation is written in a namespace, or deleted.
    Reservation(usize, usize, Option<Value>),
    Tamper(usize, Tampering),
    Passes(usize),
}

/// An action on a network.
#[derive(Debug, Clone)]
pub(super) enum NetworkAction {
    Write(Value),
    Delete,
    /// While a pod on this node uses it.
    DeleteInUse(usize),
    FromNadLabel(bool),
    /// Of one that is being deleted, if there is one; with its name, or that of another.
    ForceDelete(Option<bool>),
}

/// A manual change of a node state.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tampering {
    Delete,
    Disown,
    GiveToAnotherNode,
    MakeUnreadable,
    Number(u32),
    Labels,
    DeleteCompiled(usize),
    EditCompiled(usize),
}

pub(super) fn spec() -> impl Strategy<Value = Value> {
    let selector = prop_oneof![Just(json!({})), Just(json!({"matchLabels": {"team": "a"}}))];
    let nodes = prop_oneof![
        Just(None),
        (0..NODES.len()).prop_map(|node| Some(json!({"matchLabels": {"host": NODES[node]}}))),
        Just(Some(json!({"matchExpressions": [{"key": "rack", "operator": "DoesNotExist"}]}))),
    ];
    // `7` is a name with one engine and an id with the other: two bridges.
    let shared = |engine| if engine == "OVS" { json!({"name": "7"}) } else { json!({"id": 7}) };
    let bridge = prop_oneof![Just("OVS"), Just("VPP")].prop_flat_map(move |engine| {
        let bridge = prop_oneof![Just(json!({})), Just(shared(engine)), Just(json!({"mtu": 1}))];
        (Just(engine), bridge)
    });
    let reservations =
        prop::option::of(prop_oneof![Just(json!({})), Just(json!({"ips": ["10.1.0.0/28"], "macs": "Any"}))]);
    (selector, nodes, bridge, topology(), reservations).prop_map(
        |(selector, nodes, (engine, bridge), topology, allowed)| {
            let mut spec = json!({"engine": engine, "namespaceSelector": selector, "bridge": bridge});
            if let Some(allowed) = allowed {
                spec["reservations"] = allowed;
            }
            if let Some(nodes) = nodes {
                spec["nodeSelector"] = nodes;
            }
            if let Some((topology, ipam)) = topology {
                spec["topology"] = topology;
                spec["ipam"] = ipam;
            }
            spec
        },
    )
}

/// An overlay or uplink and addresses for it; none is a network whose nodes are not connected.
fn topology() -> impl Strategy<Value = Option<(Value, Value)>> {
    let overlay = prop_oneof![
        Just(json!({})),
        (1..3u32).prop_map(|vni| json!({"vni": vni})),
        Just(json!({"port": 8472})),
        Just(json!({"vni": 1, "port": 8472})),
    ];
    let prefix = (29..31u32).prop_map(|prefix| json!({"ipv4": prefix}));
    let ipam = prop_oneof![
        1 => Just(json!({"type": "host-local", "subnet": "10.1.0.0/28"})),
        3 => prefix.prop_map(|prefix| json!({"type": "host-local", "subnet": "10.1.0.0/28", "nodePrefix": prefix})),
        1 => Just(json!({"type": "dhcp"})),
    ];
    let overlay = overlay.prop_map(|overlay| json!({"type": "Overlay", "overlay": overlay}));
    let vlan = prop_oneof![Just(json!({})), (7..9u32).prop_map(|vlan| json!({"vlan": vlan}))];
    let uplink = (vlan, prop::sample::select(UPLINKS.as_slice())).prop_map(|(mut uplink, name)| {
        uplink["name"] = name.into();
        json!({"type": "Uplink", "uplink": uplink})
    });
    prop::option::of((prop_oneof![overlay, uplink], ipam))
}

/// The spec of an uplink.
fn uplink_spec() -> impl Strategy<Value = Value> {
    let nic = |name: &str| json!({"device": {"type": "Name", "name": name}});
    let mut of_host = nic("eth2");
    of_host["nodeSelector"] = json!({"matchLabels": {"host": "node-a"}});
    let nics = prop_oneof![Just(json!([nic("eth1")])), Just(json!([of_host, nic("eth1")])), Just(json!([of_host]))];
    let vlans = prop_oneof![Just(json!(["7-8"])), Just(json!(["8"])), Just(json!([]))];
    let engine = prop_oneof![5 => Just("OVS"), 1 => Just("VPP")];
    (engine, nics, vlans).prop_map(|(engine, nics, vlans)| json!({"engine": engine, "nics": nics, "vlans": vlans}))
}

/// The spec of a reservation.
fn reservation() -> impl Strategy<Value = Value> {
    let pod = prop::sample::select(["db-0", "db-{0..2}", "web"].as_slice());
    let ips = prop::option::of((1..9u8).prop_map(|host| json!([format!("10.1.0.{host}/28")])));
    let mac = prop::option::of((1..4u8).prop_map(|last| json!(format!("02:00:00:00:00:0{last}"))));
    (0..NAMES.len(), pod, ips, mac).prop_map(|(network, pod, ips, mac)| {
        let mut spec = json!({"network": NAMES[network], "pod": pod});
        ips.into_iter().for_each(|ips| spec["ips"] = ips);
        mac.into_iter().for_each(|mac| spec["mac"] = mac);
        spec
    })
}

pub(super) fn event() -> impl Strategy<Value = Action> {
    let (node, name, tampered) = (0..NODES.len(), 0..NAMES.len(), 0..NODES.len());
    prop_oneof![
        10 => (name.clone(), network_action()).prop_map(|(name, change)| Action::Network(name, change)),
        2 => (node.clone(), name.clone(), 0..2i64).prop_map(|(node, name, count)| Action::Attach(node, name, count)),
        1 => (node.clone(), any::<bool>()).prop_map(|(node, is_ready)| Action::Node(node, is_ready)),
        1 => node.clone().prop_map(Action::NodeLeaves),
        1 => node.clone().prop_map(Action::NodeRecreated),
        1 => (node.clone(), prop::sample::select(EngineKind::ALL.as_slice()), any::<bool>())
            .prop_map(|(node, engine, has)| Action::Engine(node, engine, has)),
        1 => (node.clone(), any::<bool>()).prop_map(|(node, runs)| Action::Agent(node, runs)),
        1 => any::<bool>().prop_map(Action::Label),
        1 => (node.clone(), any::<bool>()).prop_map(|(node, has)| Action::NodeLabel(node, has)),
        1 => (node, prop::option::of(any::<u8>())).prop_map(|(node, host)| Action::NodeAddress(node, host)),
        1 => any::<bool>().prop_map(Action::Namespace),
        3 => (0..UPLINKS.len(), prop::option::weighted(0.8, uplink_spec()))
            .prop_map(|(uplink, spec)| Action::Uplink(uplink, spec)),
        1 => (0..NODES.len(), 0..UPLINKS.len(), any::<bool>())
            .prop_map(|(node, uplink, fails)| Action::UplinkFails(node, uplink, fails)),
        1 => name.clone().prop_map(Action::Foreign),
        4 => (0..NAMESPACES.len(), 0..NAD_NAMES.len(), prop::option::weighted(0.75, config()))
            .prop_map(|(namespace, name, config)| Action::Nad(namespace, name, config)),
        4 => (0..NAMESPACES.len(), 0..RESERVATIONS.len(), prop::option::weighted(0.8, reservation()))
            .prop_map(|(namespace, name, spec)| Action::Reservation(namespace, name, spec)),
        2 => (tampered, tampering(name)).prop_map(|(node, how)| Action::Tamper(node, how)),
        4 => (1..4usize).prop_map(Action::Passes),
    ]
}

fn network_action() -> impl Strategy<Value = NetworkAction> {
    prop_oneof![
        4 => spec().prop_map(NetworkAction::Write),
        2 => Just(NetworkAction::Delete),
        2 => (0..NODES.len()).prop_map(NetworkAction::DeleteInUse),
        1 => any::<bool>().prop_map(NetworkAction::FromNadLabel),
        2 => prop::option::weighted(0.8, prop::bool::weighted(0.7)).prop_map(NetworkAction::ForceDelete),
    ]
}

/// Configurations of users' NADs.
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
        Just(Tampering::MakeUnreadable),
        (0..2u32).prop_map(Tampering::Number),
        Just(Tampering::Labels),
        name.clone().prop_map(Tampering::DeleteCompiled),
        name.prop_map(Tampering::EditCompiled),
    ]
}

fn tamper(cluster: &mut Cluster, node: &str, how: Tampering) {
    match how {
        Tampering::Delete => drop(cluster.cache.states.remove(node)),
        Tampering::DeleteCompiled(name) => {
            cluster.compiled.remove(NAMES[name]);
            cluster.cache.compiled.remove(NAMES[name]);
        }
        Tampering::EditCompiled(name) => {
            let Some(found) = cluster.cache.compiled.get(NAMES[name]).cloned() else { return };
            let mut spec = cluster.compiled[NAMES[name]].clone();
            spec.namespaces = Namespaces::all();
            spec.attachments.clear();
            cluster.put_compiled(NAMES[name], &found.uid, &found.owner.unwrap(), &spec);
        }
        _ => {}
    }
    let Some(state) = cluster.cache.states.get_mut(node) else { return };
    match how {
        Tampering::Disown => state.owner = None,
        Tampering::GiveToAnotherNode => state.owner = Some("uid-of-another".to_owned()),
        Tampering::MakeUnreadable => (state.number, state.status) = (None, None),
        Tampering::Number(number) => state.number = Some(number),
        Tampering::Labels => state.labels.clear(),
        _ => return,
    }
    state.generation += 1;
}

fn set<T: Ord>(set: &mut BTreeSet<T>, item: T, is_in: bool) {
    match is_in {
        true => drop(set.insert(item)),
        false => drop(set.remove(&item)),
    }
}

pub(super) fn perform(cluster: &mut Cluster, event: Action) {
    match event {
        Action::Network(name, change) => change_network(cluster, name, change),
        Action::Attach(node, name, count) => cluster.attach(NODES[node], NAMES[name], count),
        Action::Node(node, is_ready) => cluster.node(NODES[node], is_ready),
        Action::NodeLeaves(node) => drop(cluster.cache.nodes.remove(NODES[node])),
        Action::NodeRecreated(node) => {
            cluster.cache.nodes.remove(NODES[node]);
            cluster.node(NODES[node], true);
        }
        Action::Engine(node, engine, has) => {
            set(&mut cluster.without_engine, (NODES[node].to_owned(), engine), !has);
        }
        Action::Agent(node, runs) => set(&mut cluster.without_agent, NODES[node].to_owned(), !runs),
        Action::Label(has) => cluster.namespace("team-a", if has { &[("team", "a")] } else { &[] }),
        Action::NodeLabel(node, has) => label(cluster, NODES[node], has),
        Action::NodeAddress(node, host) => {
            let Some(found) = cluster.cache.nodes.get_mut(NODES[node]) else { return };
            found.addresses = host.map(|host| [10, 0, 1, host].into()).into_iter().collect();
        }
        Action::Namespace(is_deleting) => {
            cluster.cache.namespaces.get_mut("other").unwrap().is_deleting = is_deleting;
        }
        Action::Uplink(uplink, spec) => change_uplink(cluster, UPLINKS[uplink], spec),
        Action::UplinkFails(node, uplink, fails) => {
            cluster.set_uplink_failure(NODES[node], UPLINKS[uplink], fails.then_some(NIC_MISSING));
        }
        Action::Tamper(node, how) => tamper(cluster, NODES[node], how),
        Action::Foreign(name) => {
            let key = super::super::model::key("other", NAMES[name]);
            if !cluster.nads.contains_key(&key) {
                cluster.foreign_nad("other", NAMES[name]);
            }
        }
        Action::Nad(namespace, name, Some(config)) => {
            cluster.nad(NAMESPACES[namespace], NAD_NAMES[name], &config);
        }
        Action::Nad(namespace, name, None) => {
            let key = super::super::model::key(NAMESPACES[namespace], NAD_NAMES[name]);
            cluster.remove_nad(&key);
        }
        Action::Reservation(namespace, name, spec) => change_reservation(cluster, namespace, name, spec.as_ref()),
        Action::Passes(count) => {
            for _ in 0..count {
                checked_pass(cluster);
                cluster.report();
            }
        }
    }
}

fn label(cluster: &mut Cluster, node: &str, has: bool) {
    let Some(found) = cluster.cache.nodes.get_mut(node) else { return };
    match has {
        true => drop(found.labels.insert("rack".to_owned(), "a".to_owned())),
        false => drop(found.labels.remove("rack")),
    }
}

fn change_reservation(cluster: &mut Cluster, namespace: usize, name: usize, spec: Option<&Value>) {
    let (namespace, name) = (NAMESPACES[namespace], RESERVATIONS[name]);
    match spec {
        Some(spec) => cluster.reservation(namespace, name, spec),
        None => cluster.delete_reservation(namespace, name),
    }
}

fn change_uplink(cluster: &mut Cluster, name: &str, spec: Option<Value>) {
    let is_deleting = cluster.cache.uplinks.get(name).map(Uplink::is_deleting);
    match spec {
        Some(spec) if is_deleting != Some(true) => cluster.uplink(name, &spec),
        None if is_deleting == Some(false) => cluster.delete_uplink(name),
        _ => {}
    }
}

fn change_network(cluster: &mut Cluster, index: usize, change: NetworkAction) {
    let is_deleting = |name: &str| cluster.cache.networks.get(name).map(Network::is_deleting);
    let name = NAMES[index];
    match change {
        NetworkAction::Write(spec) if is_deleting(name) != Some(true) => cluster.network(name, &spec),
        NetworkAction::Delete if is_deleting(name) == Some(false) => cluster.delete_network(name),
        NetworkAction::Write(_) | NetworkAction::Delete => {}
        NetworkAction::DeleteInUse(node) => {
            cluster.attach(NODES[node], name, 1);
            perform(cluster, Action::Passes(3));
            change_network(cluster, index, NetworkAction::Delete);
            perform(cluster, Action::Passes(2));
        }
        NetworkAction::FromNadLabel(has) => edit(cluster, name, |network| network.has_from_nad_label = has),
        NetworkAction::ForceDelete(is_right) => {
            let name = NAMES.into_iter().find(|name| is_deleting(name) == Some(true)).unwrap_or(name);
            let value = is_right.map(|is_right| if is_right { name } else { "another" });
            edit(cluster, name, |network| network.force_delete = value.map(str::to_owned));
        }
    }
}

fn edit(cluster: &mut Cluster, name: &str, edit: impl FnOnce(&mut Network)) {
    if let Some(network) = cluster.cache.networks.get_mut(name) {
        edit(network);
    }
}
