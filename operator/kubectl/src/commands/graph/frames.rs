//! The graph by nodes, as pictures show it: each node is a frame with its bridges and pods. Nodes
//! without pods that look the same are one frame.

use super::nodes::{ClusterNode, NodeUplink};
use super::report::{Graph, NodeVertex, first_word, is_of_node};
use crate::commands::pods::report::{Attached, Program, Waiting, interface_text};
use crate::output::{count, line};
use std::collections::{BTreeMap, BTreeSet};

/// A frame names at most this many networks that are programmed and have no pods there; more are
/// counted.
const UNUSED_MAX: usize = 4;

/// How well something works. The order is that of urgency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Good,
    /// Nothing is known of it.
    #[default]
    Unknown,
    /// It is in progress.
    Waiting,
    Bad,
}

/// A node, or several without pods that look the same.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Frame<'a> {
    /// The names of the nodes; none for pods that are on no node.
    pub nodes: Vec<&'a str>,
    /// The connected engines, if they are the same on all of the nodes.
    pub engines: &'a [String],
    /// The NICs of uplinks, if there is one node.
    pub uplinks: &'a [NodeUplink],
    pub problems: &'a [String],
    pub bridges: Vec<Bridge<'a>>,
    /// How many networks without pods are not among the bridges: on the node with the fewest, and
    /// on the node with the most of them.
    pub unused: (usize, usize),
    /// How many networks without pods do not work because of the node or its engine.
    pub unreachable: usize,
    pub pods: Vec<PodBox<'a>>,
}

/// A network on a node.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Bridge<'a> {
    /// The index of the network in the graph.
    pub network: usize,
    pub level: Level,
    pub state: &'a str,
    /// Why the network is not programmed; begins with one word.
    pub reason: &'a str,
    /// The number of attached interfaces that are not listed.
    pub unnamed: i64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PodBox<'a> {
    pub name: &'a str,
    pub ports: Vec<Port<'a>>,
}

/// An interface of a pod.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Port<'a> {
    /// The index of the network in the graph.
    pub network: usize,
    pub interface: String,
    pub addresses: &'a [String],
    pub level: Level,
    /// The state, if it is not the usual one.
    pub state: String,
}

impl Frame<'_> {
    pub(crate) fn level(&self) -> Level {
        let bridges = self.bridges.iter().map(|bridge| bridge.level);
        let ports = self.pods.iter().flat_map(|pod| &pod.ports).map(|port| port.level);
        let own = if self.problems.is_empty() { Level::Good } else { Level::Bad };
        let is_usable = |uplink: &NodeUplink| uplink.problem.is_empty();
        let uplinks = if self.uplinks.iter().all(is_usable) { Level::Good } else { Level::Bad };
        bridges.chain(ports).chain([own, uplinks]).max().unwrap_or_default()
    }

    /// Returns the name of the node, or the number of nodes.
    pub(crate) fn title(&self) -> String {
        match self.nodes.as_slice() {
            [] => "on no node".to_owned(),
            [name] => line(name),
            nodes => format!("+{} nodes", nodes.len()),
        }
    }

    /// Returns how many networks a problem of the node concerns, for users.
    pub(crate) fn unreachable_text(&self) -> Option<String> {
        let networks = count(self.unreachable, "network");
        (self.unreachable > 0).then(|| format!("{networks} without pods cannot be used because of it"))
    }

    /// Returns how many networks without pods are not drawn, for users.
    pub(crate) fn unused_text(&self) -> Option<String> {
        let (least, most) = self.unused;
        let number = if least == most { most.to_string() } else { format!("{least} to {most}") };
        let noun = if most == 1 { "network" } else { "networks" };
        let more = if self.bridges.is_empty() { "" } else { " more" };
        (most > 0).then(|| format!("{number}{more} {noun} without pods"))
    }
}

impl Level {
    /// Returns the level of a network on a node, by the state that a placement has.
    fn of_state(state: &str) -> Self {
        match state {
            "Programmed" => Self::Good,
            "Failed" | "Unreachable" => Self::Bad,
            _ => Self::Waiting,
        }
    }
}

/// Returns the frames: nodes with pods by name, then the others, and pods on no node.
pub(crate) fn frames(graph: &Graph) -> Vec<Frame<'_>> {
    let mut frames: BTreeMap<&str, Frame<'_>> = graph.nodes.iter().map(|node| (&*node.name, frame(node))).collect();
    let mut homeless = BTreeMap::new();
    for (network, vertex) in graph.networks.iter().enumerate() {
        for node in &vertex.nodes {
            let new = || Frame { nodes: vec![&node.name], ..Frame::default() };
            add(frames.entry(&node.name).or_insert_with(new), network, node);
        }
        for waiting in &vertex.waiting {
            let frame = waiting.node.as_deref().and_then(|node| frames.get_mut(node));
            match frame {
                Some(frame) => add_port(&mut frame.pods, &waiting.pod, port_of(network, waiting)),
                None => homeless.entry(&*waiting.pod).or_insert_with(Vec::new).push(port_of(network, waiting)),
            }
        }
    }
    let mut frames: Vec<Frame<'_>> = frames.into_values().collect();
    frames.iter_mut().for_each(hide_unreachable);
    let ports = |pod: &mut PodBox<'_>| pod.ports.sort_by(|one, other| one.interface.cmp(&other.interface));
    frames.iter_mut().flat_map(|frame| &mut frame.pods).for_each(ports);
    let is_plain = |frame: &Frame<'_>| frame.pods.is_empty() && frame.bridges.iter().all(|it| it.unnamed == 0);
    let (plain, mut found): (Vec<_>, Vec<_>) = frames.into_iter().partition(is_plain);
    for frame in &mut found {
        frame.pods.sort_by_key(|pod| (pod.ports.iter().map(|port| port.network).min(), pod.name));
        let (unused, used): (Vec<_>, Vec<_>) =
            std::mem::take(&mut frame.bridges).into_iter().partition(|bridge| is_unused(frame, bridge));
        frame.bridges = used;
        name_unused(frame, &[unused]);
    }
    found.extend(folded(plain));
    if !homeless.is_empty() {
        let pods = homeless.into_iter().map(|(name, ports)| PodBox { name, ports }).collect();
        found.push(Frame { pods, ..Frame::default() });
    }
    found
}

fn frame(node: &ClusterNode) -> Frame<'_> {
    Frame {
        nodes: vec![&node.name],
        engines: &node.engines,
        uplinks: &node.uplinks,
        problems: &node.problems,
        ..Frame::default()
    }
}

fn add<'a>(frame: &mut Frame<'a>, network: usize, node: &'a NodeVertex) {
    let NodeVertex { state, reason, unnamed, .. } = node;
    let level = Level::of_state(state);
    frame.bridges.push(Bridge { network, level, state, reason, unnamed: *unnamed });
    for attached in &node.interfaces {
        add_port(&mut frame.pods, &attached.pod, attached_port(network, attached));
    }
    for waiting in &node.waiting {
        add_port(&mut frame.pods, &waiting.pod, port_of(network, waiting));
    }
}

fn add_port<'a>(pods: &mut Vec<PodBox<'a>>, name: &'a str, port: Port<'a>) {
    match pods.iter_mut().find(|pod| pod.name == name) {
        Some(pod) => pod.ports.push(port),
        None => pods.push(PodBox { name, ports: vec![port] }),
    }
}

fn attached_port(network: usize, attached: &Attached) -> Port<'_> {
    let (level, state) = match attached.program {
        Program::Connected | Program::NotNeeded => (Level::Good, ""),
        Program::NotConnected => (Level::Bad, "not connected"),
        Program::Failed => (Level::Bad, "failed"),
        Program::Unknown => (Level::Unknown, ""),
    };
    Port {
        network,
        interface: interface_text(&attached.interface, attached.source.as_deref()),
        addresses: &attached.addresses,
        level,
        state: state.to_owned(),
    }
}

fn port_of(network: usize, waiting: &Waiting) -> Port<'_> {
    let state = format!("not attached: {}", line(&waiting.state));
    Port {
        network,
        interface: interface_text(&waiting.interface, waiting.source.as_deref()),
        addresses: &[],
        level: Level::Waiting,
        state,
    }
}

/// Counts the networks without pods that do not work because of a problem of the node, which is
/// named once.
fn hide_unreachable(frame: &mut Frame<'_>) {
    if frame.problems.is_empty() {
        return;
    }
    let used: BTreeSet<usize> = frame.pods.iter().flat_map(|pod| &pod.ports).map(|port| port.network).collect();
    let before = frame.bridges.len();
    let is_hidden = |bridge: &Bridge<'_>| {
        is_of_node(bridge.state, bridge.reason) && bridge.unnamed == 0 && !used.contains(&bridge.network)
    };
    frame.bridges.retain(|bridge| !is_hidden(bridge));
    frame.unreachable = before - frame.bridges.len();
}

/// Whether nothing but its existence is to be said of a network on a node.
fn is_unused(frame: &Frame<'_>, bridge: &Bridge<'_>) -> bool {
    let has_pods = frame.pods.iter().flat_map(|pod| &pod.ports).any(|port| port.network == bridge.network);
    !has_pods && bridge.unnamed == 0 && bridge.level == Level::Good
}

/// Adds the unused networks that all nodes of a frame have if they are few, and counts them if not.
fn name_unused<'a>(frame: &mut Frame<'a>, of_nodes: &[Vec<Bridge<'a>>]) {
    let is_same = of_nodes.windows(2).all(|pair| matches!(pair, [one, other] if one == other));
    let numbers = of_nodes.iter().map(Vec::len);
    let (least, most) = (numbers.clone().min().unwrap_or_default(), numbers.max().unwrap_or_default());
    match of_nodes.first() {
        Some(first) if is_same && most <= UNUSED_MAX => frame.bridges.extend(first.iter().cloned()),
        _ => frame.unused = (least, most),
    }
    frame.bridges.sort_by_key(|bridge| bridge.network);
}

/// Returns a problem of a node without its message.
pub(super) fn kind(problem: &str) -> Vec<&str> {
    problem.split(": ").take(2).collect()
}

/// Folds nodes without pods that have the same problems.
fn folded(plain: Vec<Frame<'_>>) -> Vec<Frame<'_>> {
    let mut groups: BTreeMap<_, Vec<Frame<'_>>> = BTreeMap::new();
    for frame in plain {
        let bad = frame.bridges.iter().filter(|bridge| bridge.level != Level::Good);
        let bad: Vec<_> = bad.map(|bridge| (bridge.network, first_word(bridge.state, bridge.reason))).collect();
        let problems: Vec<_> = frame.problems.iter().map(|problem| kind(problem)).collect();
        let unusable = frame.uplinks.iter().filter(|uplink| !uplink.problem.is_empty());
        let unusable: Vec<_> = unusable.map(|uplink| (&*uplink.uplink, first_word("", &uplink.problem))).collect();
        groups.entry((problems, unusable, bad)).or_default().push(frame);
    }
    // Those with a problem come first.
    groups.into_values().rev().map(fold).collect()
}

fn fold(group: Vec<Frame<'_>>) -> Frame<'_> {
    let mut frames = group.into_iter();
    let mut folded = frames.next().unwrap_or_default();
    let (mut unused, bad) = split(&mut folded);
    folded.bridges = bad;
    let mut of_nodes = vec![std::mem::take(&mut unused)];
    for mut frame in frames {
        folded.nodes.append(&mut frame.nodes);
        if folded.engines != frame.engines {
            folded.engines = &[];
        }
        let is_usable = |uplink: &NodeUplink| uplink.problem.is_empty();
        if folded.uplinks != frame.uplinks && folded.uplinks.iter().all(is_usable) {
            folded.uplinks = &[];
        }
        folded.unreachable = folded.unreachable.max(frame.unreachable);
        of_nodes.push(split(&mut frame).0);
    }
    name_unused(&mut folded, &of_nodes);
    folded
}

/// Returns the networks of a frame without pods that are programmed, and the others.
fn split<'a>(frame: &mut Frame<'a>) -> (Vec<Bridge<'a>>, Vec<Bridge<'a>>) {
    std::mem::take(&mut frame.bridges).into_iter().partition(|bridge| bridge.level == Level::Good)
}
