//! Sizes that all frames of a picture have in common, so that their columns are aligned.

use super::super::frames::{Bridge, Frame, Level, PodBox, Port};
use super::super::nodes::NodeUplink;
use super::super::report::{Graph, first_word};
use super::boxes::{Label, Style};
use super::measure::Font;
use crate::output::line;

/// The room between the border of a box and its texts.
pub(super) const PADDING: i32 = 10;
/// The distance of lines of text.
pub(super) const LINE: i32 = 16;
/// The height of the header of a frame.
pub(super) const HEADER: i32 = 36;
/// The distance between boxes.
pub(super) const GAP: i32 = 12;
/// The distance of parallel lines of networks.
pub(super) const LANE: i32 = 8;
/// The most lanes beside each other in a frame; more links share them.
pub(super) const LANES_MAX: usize = 10;

const POD_MAX: i32 = 400;
const BRIDGE_MAX: i32 = 240;
const NIC_MAX: i32 = 140;

/// The widths of the columns within frames, in pixels; 0 for a column that no frame has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    pub nic: i32,
    pub bridge: i32,
    /// The room for lines between bridges and pods.
    pub lanes: i32,
    pub pod: i32,
}

impl Style {
    pub(super) const fn font(self) -> Font {
        match self {
            Self::Name => Font::Fixed(13),
            Self::Detail => Font::Fixed(11),
            Self::Note | Self::Problem => Font::Proportional(11),
        }
    }
}

impl Sizes {
    pub(super) fn of(graph: &Graph, frames: &[Frame<'_>]) -> Self {
        let uplinks = frames.iter().flat_map(|frame| frame.uplinks);
        let nic = uplinks.flat_map(nic_lines).map(|(style, text)| style.font().width(&text) + 2 * PADDING);
        let bridges = frames.iter().flat_map(|frame| &frame.bridges);
        let bridge = bridges.flat_map(|bridge| bridge_lines(graph, bridge));
        let bridge = bridge.map(|(style, text)| style.font().width(&text) + 2 * PADDING + 6);
        let pod = frames.iter().flat_map(|frame| &frame.pods).map(pod_width);
        let links = frames.iter().map(links).max().unwrap_or_default().min(LANES_MAX);
        let pod = pod.max().map_or(0, |width| width.clamp(160, POD_MAX));
        let lanes = i32::try_from(links).unwrap_or_default() * LANE + 28;
        Self {
            nic: nic.max().map_or(0, |width| width.clamp(54, NIC_MAX)),
            bridge: bridge.max().map_or(160, |width| width.clamp(120, BRIDGE_MAX)),
            lanes: if pod == 0 { 0 } else { lanes },
            pod,
        }
    }

    /// Returns the distance of bridges from the left border of a frame.
    pub(super) const fn bridge_x(&self) -> i32 {
        GAP + if self.nic == 0 { 0 } else { self.nic + 2 * GAP }
    }

    pub(super) const fn pod_x(&self) -> i32 {
        self.bridge_x() + self.bridge + self.lanes
    }

    pub(super) fn frame(&self) -> i32 {
        (self.pod_x() + self.pod + GAP).max(280)
    }
}

/// Returns the most interfaces that are on another bridge than the first one of their pod.
fn links(frame: &Frame<'_>) -> usize {
    frame.pods.iter().map(|pod| pod.ports.len().saturating_sub(1)).sum()
}

fn pod_width(pod: &PodBox<'_>) -> i32 {
    let name = Style::Name.font().width(&line(pod.name));
    let port = |port: &Port<'_>| {
        let state = if port.state.is_empty() { 0 } else { Style::Problem.font().width(&port.state) + PADDING };
        14 + Style::Detail.font().width(&port_text(port)) + state
    };
    2 * PADDING + pod.ports.iter().map(port).max().unwrap_or_default().max(name)
}

/// Returns the interface and its addresses.
pub(super) fn port_text(port: &Port<'_>) -> String {
    let addresses = port.addresses.iter().map(|address| line(address)).collect::<Vec<_>>().join(", ");
    let text = format!("{}  {addresses}", line(&port.interface));
    text.trim_end().to_owned()
}

pub(super) fn nic_lines(uplink: &NodeUplink) -> Vec<(Style, String)> {
    let nic = if uplink.nic.is_empty() { "no NIC".to_owned() } else { line(&uplink.nic) };
    let mut lines = vec![(Style::Detail, nic), (Style::Note, format!("uplink {}", line(&uplink.uplink)))];
    if !uplink.problem.is_empty() {
        lines.push((Style::Problem, line(first_word("", &uplink.problem))));
    }
    lines
}

pub(super) fn bridge_lines(graph: &Graph, bridge: &Bridge<'_>) -> Vec<(Style, String)> {
    let Some(network) = graph.networks.get(bridge.network) else { return Vec::new() };
    let mut lines = vec![(Style::Name, line(&network.name)), (Style::Detail, line(&network.bridge))];
    if bridge.level != Level::Good {
        let style = if bridge.level == Level::Bad { Style::Problem } else { Style::Note };
        lines.push((style, line(first_word(bridge.state, bridge.reason))));
    }
    if bridge.unnamed > 0 {
        lines.push((Style::Note, format!("and {} more interfaces", bridge.unnamed)));
    }
    lines.retain(|(_, text)| !text.is_empty());
    lines
}

/// Returns a label that fits into this room.
pub(super) fn label((x, y): (i32, i32), text: &str, style: Style, room: i32) -> Label {
    let text = line(text);
    let fitted = style.font().fit(&text, room);
    let full = (fitted != text).then_some(text);
    Label { x, y, text: fitted, full, style }
}

/// Returns the labels of lines below each other, the first of them at `y`.
pub(super) fn labels((x, y): (i32, i32), lines: &[(Style, String)], room: i32) -> Vec<Label> {
    let place = (y..).step_by(LINE.unsigned_abs() as usize);
    lines.iter().zip(place).map(|((style, text), y)| label((x, y), text, *style, room)).collect()
}
