//! A segment: networks of all nodes that are connected, one for each engine, and pods in it.

use super::measure::count::{ALL_ONCE, BROADCASTS, NONE, await_datagram, broadcast};
use super::measure::frames::Frames;
use super::measure::reachable::Probes;
use super::measure::report;
use crate::support::cluster::{apply, kubectl, nodes, timeout};
use crate::support::pods::{pod_without_volume, wait_running};
use crate::support::scene::{Scene, wait_ready};
use crate::support::station::Station;
use crate::support::vpp;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// Headers of IPv4 and UDP.
const HEADERS: usize = 28;
pub(super) const BROADCAST: Ipv4Addr = Ipv4Addr::new(10, 142, 255, 255);

/// The connection between the nodes of a segment.
#[derive(Clone, Copy)]
pub(super) struct Variant {
    /// The name in the report.
    pub(super) name: &'static str,
    /// The engines of the nodes, in turn.
    pub(super) engines: &'static [&'static str],
    /// `spec.topology` of its networks, with a number that no other segment has.
    pub(super) topology: fn(u16) -> Value,
    /// The MTU of its networks.
    pub(super) mtu: usize,
}

impl Variant {
    /// The engine of a node, by its number.
    fn engine(&self, node: usize) -> &'static str {
        self.engines[node % self.engines.len()]
    }

    /// Whether packets can be counted. If not, this prints that they are left out.
    pub(super) fn moves_packets(&self) -> bool {
        !self.engines.contains(&"VPP") || vpp::moves_packets(&format!("packets over {}", self.name))
    }
}

/// A segment, with the same addresses as any other.
pub(super) struct Segment<'a> {
    scene: &'a Scene,
    pub(super) name: &'static str,
    pub(super) variant: Variant,
}

impl<'a> Segment<'a> {
    /// Creates its networks, and waits until they are ready.
    pub(super) fn create(scene: &'a Scene, name: &'static str, variant: Variant, number: u16) -> Self {
        let segment = Self { scene, name, variant };
        for (engine, network) in segment.networks() {
            let mut spec = json!({
                "engine": engine,
                "port": {"type": "Veth"},
                "topology": (variant.topology)(number),
                "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.142.0.0/16"}]], "nodePrefix": {"ipv4": 24}},
            });
            if variant.engines.len() > 1 {
                spec["nodeSelector"] = segment.nodes_of(engine);
            }
            scene.apply_network(&network, &spec);
        }
        segment.networks().iter().for_each(|(_, network)| wait_ready(network));
        segment
    }

    /// Returns the networks, each with its engine.
    pub(super) fn networks(&self) -> Vec<(&'static str, String)> {
        match self.variant.engines {
            [engine] => vec![(engine, self.name.to_owned())],
            several => several.iter().map(|engine| (*engine, self.network_of(engine))).collect(),
        }
    }

    fn network_of(&self, engine: &str) -> String {
        match self.variant.engines.len() {
            1 => self.name.to_owned(),
            _ => format!("{}-{}", self.name, engine.to_lowercase()),
        }
    }

    /// A selector of the nodes that have this engine.
    fn nodes_of(&self, engine: &str) -> Value {
        let nodes = nodes().into_iter().enumerate().filter(|(number, _)| self.variant.engine(*number) == engine);
        let nodes: Vec<&str> = nodes.map(|(_, node)| node).collect();
        json!({"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": nodes}]})
    }

    /// Starts a pod on each of these nodes, by their numbers; a node may have several.
    pub(super) fn pods(&self, numbers: &[usize]) -> Vec<Station> {
        let mut names = Vec::new();
        for number in numbers {
            let name = format!("{}-{}", self.name, names.len());
            let mut pod = pod_without_volume(self.scene, &name, &self.network_of(self.variant.engine(*number)));
            pod["spec"]["nodeName"] = json!(nodes()[*number]);
            apply(&pod);
            names.push(name);
        }
        names.iter().for_each(|name| wait_running(self.scene, name));
        names.iter().map(|name| Station::of_pod(self.scene, name)).collect()
    }

    /// A pod on each node, and one more on the first.
    pub(super) fn members(&self) -> Vec<Station> {
        let stations = self.pods(&[0].into_iter().chain(0..nodes().len()).collect::<Vec<_>>());
        let addresses: BTreeSet<&String> = stations.iter().map(|station| &station.address).collect();
        assert_eq!(addresses.len(), stations.len(), "{addresses:?}");
        stations
    }

    /// A pod on each node but the first, each of which has the address of a member.
    pub(super) fn strangers(&self, members: &[Station]) -> Vec<Station> {
        let stations = self.pods(&(1..nodes().len()).collect::<Vec<_>>());
        for station in &stations {
            let is_same = |member: &Station| (&member.node, &member.address) == (&station.node, &station.address);
            assert!(members.iter().any(is_same), "{} has the address of no member", station.name);
        }
        stations
    }

    /// Deletes these pods and the networks.
    pub(super) fn delete(&self, pods: &[Station]) {
        self.scene.delete_pods(pods.iter().map(|pod| pod.name.as_str()));
        let networks = self.networks();
        let names = networks.iter().map(|(_, network)| network.as_str());
        kubectl(&["delete", "usn", timeout()].into_iter().chain(names).collect::<Vec<_>>());
    }
}

/// Returns the senders: one station of each node, and the hosts outside.
pub(super) fn one_of_each_node<'a>(stations: &[&'a Station]) -> Vec<&'a Station> {
    let mut nodes = BTreeSet::new();
    stations.iter().copied().filter(|station| nodes.insert(&station.node)).collect()
}

/// Frames of the full MTU pass between the nodes in both directions, each broadcast arrives once at
/// all members and at no other pod, no pod sees a frame to a node, and all nodes answer meanwhile.
pub(super) fn meet(variant: &Variant, members: &[&Station], strangers: &[&Station]) {
    let everybody: Vec<&Station> = members.iter().chain(strangers).copied().collect();
    let (probes, frames) = (Probes::start(), Frames::watch(&everybody));
    let senders = one_of_each_node(members);
    for (from, to) in senders.iter().flat_map(|from| senders.iter().map(move |to| (*from, *to))) {
        if from.name != to.name {
            await_datagram(from, to, variant.mtu - HEADERS);
            // In fragments.
            await_datagram(from, to, variant.mtu - HEADERS + 1);
        }
    }
    count(&senders, members, strangers);
    if strangers.len() > 1 {
        count(&one_of_each_node(strangers)[..1], strangers, members);
    }
    let (seen, answers) = (frames.end(), probes.end());
    for (name, seen) in &seen {
        assert!(seen.frames >= BROADCASTS || strangers.iter().any(|it| it.name == *name), "{name}: {seen:?}");
        assert_eq!(seen.of_nodes, 0, "{name} has frames to a node: {seen:?}");
    }
    for sender in &senders {
        let (_, seen) = seen.iter().find(|(name, _)| *name == sender.name).unwrap();
        assert_eq!(seen.largest, variant.mtu, "{}: not one frame of the full MTU", sender.name);
    }
    assert_eq!(answers.missing, 0, "a node was not reachable at its address: {answers}");
    let sent = senders.len() as u64 * BROADCASTS;
    let received = (members.len() - 1) as u64 * sent;
    report::row(
        "Counts",
        &COLUMNS,
        vec![
            variant.name.to_owned(),
            format!("{} on {} nodes", members.len(), nodes().len()),
            sent.to_string(),
            format!("{received} unique, {received} in total"),
            "0".to_owned(),
            format!("0 at {} pods", strangers.len()),
            "0".to_owned(),
            format!("{} bytes", variant.mtu),
            answers.to_string(),
        ],
    );
}

const COLUMNS: [&str; 9] = [
    "segment",
    "pods and hosts",
    "broadcasts sent",
    "received by all others",
    "back at the sender",
    "in another segment with the same addresses",
    "frames to a node's MAC in pods",
    "full frame with DF, each way",
    "answers of the nodes at their addresses",
];

/// Each of `senders` sends to all. The `members` receive each broadcast once, the `strangers` none.
pub(super) fn count(senders: &[&Station], members: &[&Station], strangers: &[&Station]) {
    let everybody: Vec<&Station> = members.iter().chain(strangers).copied().collect();
    for sender in senders {
        let counts = broadcast(sender, BROADCAST, &everybody);
        println!("{} sent {BROADCASTS} broadcasts; received: {counts:?}", sender.name);
        for (name, count) in counts {
            let is_stranger = strangers.iter().any(|stranger| stranger.name == name);
            // The sender's own kernel gives it each of them once.
            assert_eq!(count, if is_stranger { NONE } else { ALL_ONCE }, "{name}, of what {} sent", sender.name);
        }
    }
}
