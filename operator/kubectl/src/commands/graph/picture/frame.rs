//! Places the boxes within the frame of a node: NICs at the left, then bridges, then pods. A pod is
//! beside the bridge of its first interface.

use super::super::frames::{Bridge, Frame, Level, PodBox, Port};
use super::super::nodes::NodeUplink;
use super::super::report::Graph;
use super::boxes::{FrameBox, Plain, Pod, PortRow, Rect, Style, Wire};
use super::sizes::{
    GAP, HEADER, LANE, LANES_MAX, LINE, PADDING, Sizes, bridge_lines, label, labels, nic_lines, port_text,
};
use crate::commands::shared::join_first;
use crate::output::line;
use std::collections::BTreeMap;

/// The maximum number of lines of a note.
const NOTE_LINES: usize = 4;

/// A frame with what leaves it.
#[derive(Debug, Clone, Default)]
pub(super) struct Placed {
    pub frame: FrameBox,
    pub wires: Vec<Wire>,
    /// The left ends of networks in the frame.
    pub taps: Vec<Tap>,
}

/// The place where a network leaves a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tap {
    pub network: usize,
    pub level: Level,
    pub x: i32,
    pub y: i32,
}

struct Placing<'a> {
    graph: &'a Graph,
    frame: &'a Frame<'a>,
    sizes: Sizes,
    x: i32,
    /// The height below everything that is placed.
    y: i32,
    placed: Placed,
    /// The bridges by their networks.
    bridges: BTreeMap<usize, Rect>,
    /// The interfaces of pods that are beside another bridge, with their ends.
    links: Vec<(usize, Level, (i32, i32))>,
}

/// Places a frame with its top left corner at `origin`.
pub(super) fn place(graph: &Graph, frame: &Frame<'_>, sizes: Sizes, origin: (i32, i32)) -> Placed {
    let (x, y) = origin;
    let (bridges, links) = (BTreeMap::new(), Vec::new());
    let mut placing = Placing { graph, frame, sizes, x, y, placed: Placed::default(), bridges, links };
    placing.header();
    placing.rows();
    placing.loose_pods();
    placing.links();
    placing.unused_nics();
    if let Some(text) = frame.unused_text() {
        placing.note(&text, Style::Note);
    }
    placing.y += 4;
    let rect = Rect { x, y, width: sizes.frame(), height: placing.y - y };
    placing.placed.frame.rect = rect;
    placing.placed.frame.level = frame.level();
    placing.placed
}

impl Placing<'_> {
    fn room(&self) -> i32 {
        self.sizes.frame() - 2 * GAP
    }

    fn header(&mut self) {
        let engines = self.frame.engines.iter().map(|engine| line(engine)).collect::<Vec<_>>().join(", ");
        let right = self.x + self.sizes.frame() - GAP;
        let name_width = Style::Name.font().width(&self.frame.title()).min(self.room() - 14);
        let y = self.y + 23;
        let frame = &mut self.placed.frame;
        frame.engines = label((right, y), &engines, Style::Note, self.sizes.frame() - 3 * GAP - 14 - name_width);
        frame.name = label((self.x + GAP + 14, y), &self.frame.title(), Style::Name, name_width);
        self.y += HEADER;
        if self.frame.nodes.len() > 1 {
            let names: Vec<_> = self.frame.nodes.iter().map(|name| line(name)).collect();
            self.note(&join_first(&names, 3), Style::Note);
            // Users search for names.
            if let Some(note) = self.placed.frame.notes.last_mut() {
                note.full = Some(names.join(", "));
            }
        }
        for problem in self.frame.problems {
            self.note(problem, Style::Problem);
        }
        if let Some(text) = self.frame.unreachable_text() {
            self.note(&text, Style::Problem);
        }
    }

    fn note(&mut self, text: &str, style: Style) {
        for part in style.font().wrap(&line(text), self.room(), NOTE_LINES) {
            let note = label((self.x + GAP, self.y + 10), &part, style, self.room());
            self.placed.frame.notes.push(note);
            self.y += LINE;
        }
        self.y += 4;
    }

    /// Places bridges, those of one uplink below each other beside its NIC, with their pods.
    fn rows(&mut self) {
        let uplink = |bridge: &Bridge<'_>| self.graph.networks.get(bridge.network).and_then(|it| it.uplink.as_deref());
        let mut bridges: Vec<&Bridge<'_>> = self.frame.bridges.iter().collect();
        bridges.sort_by_key(|bridge| (uplink(bridge).is_none(), uplink(bridge), bridge.network));
        for of_uplink in bridges.chunk_by(|one, other| uplink(one) == uplink(other)) {
            let top = self.y;
            let nic = of_uplink.first().and_then(|bridge| uplink(bridge));
            let nic = nic.and_then(|name| self.frame.uplinks.iter().find(|it| it.uplink == name));
            for bridge in of_uplink {
                self.row(bridge, nic.is_some());
            }
            if let Some(nic) = nic {
                self.nic(nic, top, self.y - GAP);
            }
        }
    }

    fn row(&mut self, bridge: &Bridge<'_>, has_nic: bool) {
        let (graph, frame, sizes, top) = (self.graph, self.frame, self.sizes, self.y);
        for pod in frame.pods.iter().filter(|pod| first_network(frame, pod) == Some(bridge.network)) {
            self.pod(pod);
        }
        let pods = self.y - top - GAP / 2;
        let lines = bridge_lines(graph, bridge);
        let height =
            (i32::try_from(lines.len()).unwrap_or_default() * LINE + 12).max(pods) + self.room_for_links(bridge);
        let rect = Rect { x: self.x + sizes.bridge_x(), y: top, width: sizes.bridge, height };
        let place = (rect.x + PADDING + 6, top + 19);
        let labels = labels(place, &lines, sizes.bridge - 2 * PADDING - 6);
        let hint = self.hint(bridge);
        let plain = Plain { rect, level: bridge.level, network: Some(bridge.network), labels, hint };
        self.placed.frame.bridges.push(plain);
        self.bridges.insert(bridge.network, rect);
        self.tap(bridge, rect, has_nic);
        self.y = rect.bottom() + GAP;
    }

    fn hint(&self, bridge: &Bridge<'_>) -> String {
        let Some(network) = self.graph.networks.get(bridge.network) else { return String::new() };
        let state = [bridge.state, bridge.reason].into_iter().filter(|text| !text.is_empty());
        let state = state.map(line).collect::<Vec<_>>().join(": ");
        format!("{}: {}; {}\n{state}", line(&network.name), line(&network.description), line(&network.topology))
    }

    /// Connects a bridge to the left border of the frame if its network connects nodes.
    fn tap(&mut self, bridge: &Bridge<'_>, rect: Rect, has_nic: bool) {
        let (network, level) = (bridge.network, bridge.level);
        if !self.graph.networks.get(network).is_some_and(|it| it.connects_nodes) {
            return;
        }
        let y = rect.y + 15;
        let mut ends = vec![(self.x, rect.x)];
        if has_nic {
            let nic = self.x + GAP;
            ends = vec![(self.x, nic), (nic + self.sizes.nic, rect.x)];
        }
        for (left, right) in ends {
            self.placed.wires.push(Wire { network, level, points: vec![(left, y), (right, y)], is_inside: true });
        }
        self.placed.taps.push(Tap { network, level, x: self.x, y });
    }

    fn nic(&mut self, uplink: &NodeUplink, top: i32, bottom: i32) {
        let rect = Rect { x: self.x + GAP, y: top, width: self.sizes.nic, height: bottom - top };
        let lines = nic_lines(uplink);
        let labels = labels((rect.x + PADDING, top + 19), &lines, self.sizes.nic - 2 * PADDING);
        let level = if uplink.problem.is_empty() { Level::Good } else { Level::Bad };
        let hint = format!("NIC {} of uplink {} {}", line(&uplink.nic), line(&uplink.uplink), line(&uplink.problem));
        self.placed.frame.nics.push(Plain { rect, level, network: None, labels, hint: hint.trim_end().to_owned() });
    }

    /// Returns the height that a bridge needs for links to pods beside other bridges.
    fn room_for_links(&self, bridge: &Bridge<'_>) -> i32 {
        let is_link = |pod: &&PodBox<'_>| first_network(self.frame, pod) != Some(bridge.network);
        let pods = self.frame.pods.iter().filter(is_link);
        let links = pods.flat_map(|pod| &pod.ports).filter(|port| port.network == bridge.network).count();
        i32::try_from(links).unwrap_or_default() * LANE
    }

    fn pod(&mut self, pod: &PodBox<'_>) {
        let first = first_network(self.frame, pod);
        let rows = i32::try_from(pod.ports.len()).unwrap_or_default();
        let rect =
            Rect { x: self.x + self.sizes.pod_x(), y: self.y, width: self.sizes.pod, height: 18 + rows * LINE + 8 };
        let room = self.sizes.pod - 2 * PADDING;
        let name = label((rect.x + PADDING, rect.y + 18), pod.name, Style::Name, room);
        let mut ports = Vec::new();
        for (port, y) in pod.ports.iter().zip((rect.y + 30..).step_by(LINE.unsigned_abs() as usize)) {
            let Port { network, level, .. } = *port;
            ports.push(port_row(port, rect, y));
            if Some(network) == first {
                let points = vec![(self.x + self.sizes.bridge_x() + self.sizes.bridge, y), (rect.x, y)];
                self.placed.wires.push(Wire { network, level, points, is_inside: true });
            } else {
                self.links.push((network, level, (rect.x, y)));
            }
        }
        let level = pod.ports.iter().map(|port| port.level).max().unwrap_or_default();
        self.placed.frame.pods.push(Pod { rect, level, name, ports });
        self.y = rect.bottom() + GAP / 2;
    }

    /// Places the pods whose networks are not on the node.
    fn loose_pods(&mut self) {
        let (frame, top) = (self.frame, self.y);
        for pod in frame.pods.iter().filter(|pod| first_network(frame, pod).is_none()) {
            self.pod(pod);
        }
        if self.y > top {
            self.y += GAP / 2;
        }
    }

    /// Connects interfaces to bridges that their pods are not beside.
    fn links(&mut self) {
        let mut used: BTreeMap<usize, i32> = BTreeMap::new();
        for (lane, (network, level, (x, y))) in std::mem::take(&mut self.links).into_iter().enumerate() {
            let Some(bridge) = self.bridges.get(&network) else { continue };
            let number = used.entry(network).or_default();
            let from = bridge.bottom() - 6 - LANE * *number;
            *number += 1;
            let lane = bridge.right() + 12 + LANE * i32::try_from(lane % LANES_MAX).unwrap_or_default();
            let points = vec![(bridge.right(), from), (lane, from), (lane, y), (x, y)];
            self.placed.wires.push(Wire { network, level, points, is_inside: true });
        }
    }

    /// Places NICs of uplinks that no bridge of the frame uses.
    fn unused_nics(&mut self) {
        let uplink_of = |bridge: &Bridge<'_>| self.graph.networks.get(bridge.network)?.uplink.as_deref();
        let used: Vec<&str> = self.frame.bridges.iter().filter_map(uplink_of).collect();
        for uplink in self.frame.uplinks.iter().filter(|it| !used.contains(&it.uplink.as_str())) {
            let top = self.y;
            let height = i32::try_from(nic_lines(uplink).len()).unwrap_or_default() * LINE + 12;
            self.nic(uplink, top, top + height);
            self.y = top + height + GAP;
        }
    }
}

/// Returns the network of the bridge that a pod is beside.
fn first_network(frame: &Frame<'_>, pod: &PodBox<'_>) -> Option<usize> {
    let is_here = |network: &usize| frame.bridges.iter().any(|bridge| bridge.network == *network);
    pod.ports.iter().map(|port| port.network).filter(is_here).min()
}

fn port_row(port: &Port<'_>, pod: Rect, y: i32) -> PortRow {
    let room = pod.width - 2 * PADDING - 14;
    let style = if port.level == Level::Bad { Style::Problem } else { Style::Note };
    let own = style.font().width(&port.state).min(room * 6 / 10);
    let state = label((pod.right() - PADDING, y + 4), &port.state, style, own);
    let left = if own == 0 { room } else { room - own - PADDING };
    let interface = label((pod.x + PADDING + 14, y + 4), &port_text(port), Style::Detail, left);
    PortRow { y, network: port.network, level: port.level, interface, state }
}
