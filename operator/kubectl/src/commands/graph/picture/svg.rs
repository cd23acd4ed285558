//! Writes a picture as SVG. It loads nothing: neither fonts nor images, and it has no script.

use super::super::frames::Level;
use super::super::report::Graph;
use super::boxes::{FrameBox, Junction, Label, Picture, Plain, Pod, PortRow, Rect, Segment, Style, Wire};
use super::layout::layout;
use crate::html::escape;
use std::fmt::Write;

/// The style of a picture, for a page that contains one.
pub(crate) const STYLE: &str = include_str!("svg.css");
/// The number of colours of networks.
const COLORS: usize = 8;

/// Returns a picture as a file of its own.
pub(crate) fn document(graph: &Graph) -> String {
    svg(&layout(graph), &format!("<style>\n{STYLE}</style>\n"))
}

/// Returns a picture as an element of a page with [`STYLE`].
pub(crate) fn element(graph: &Graph) -> String {
    svg(&layout(graph), "")
}

fn svg(picture: &Picture, style: &str) -> String {
    let Picture { width, height, title, .. } = picture;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"usnet\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{0}\">\n{style}",
        escape(title)
    );
    let _ = writeln!(text, "<text class=\"title\" x=\"24\" y=\"38\">{}</text>", escape(title));
    legend(&mut text);
    for frame in &picture.frames {
        frame_border(&mut text, frame);
    }
    for wire in &picture.wires {
        draw_wire(&mut text, wire);
    }
    for Junction { network, x, y } in &picture.junctions {
        let color = network % COLORS;
        let _ = writeln!(text, "<circle class=\"f{color}\" data-n=\"{network}\" cx=\"{x}\" cy=\"{y}\" r=\"3.5\"/>");
    }
    for segment in &picture.segments {
        draw_segment(&mut text, segment);
    }
    for frame in &picture.frames {
        draw_frame(&mut text, frame);
    }
    text + "</svg>\n"
}

fn legend(text: &mut String) {
    let entries = [
        ("good", "connected, or needs no program"),
        ("bad", "problem"),
        ("waiting", "not attached yet"),
        ("unknown", "unknown"),
    ];
    let mut x = 24;
    for (class, meaning) in entries {
        let _ = write!(text, "<circle class=\"dot {class}\" cx=\"{}\" cy=\"58\" r=\"4\"/>", x + 4);
        let _ = writeln!(text, "<text x=\"{}\" y=\"62\">{meaning}</text>", x + 14);
        x += 14 + Style::Note.font().width(meaning) + 22;
    }
    let _ = writeln!(
        text,
        "<path class=\"wire s0\" d=\"M{x} 58H{}\"/><circle class=\"f0\" cx=\"{}\" cy=\"58\" r=\"3.5\"/>\
         <text x=\"{}\" y=\"62\">the network connects nodes; lines that cross without a dot do not meet</text>",
        x + 26,
        x + 13,
        x + 34
    );
}

fn class(level: Level) -> &'static str {
    match level {
        Level::Good => "good",
        Level::Unknown => "unknown",
        Level::Waiting => "waiting",
        Level::Bad => "bad",
    }
}

fn frame_border(text: &mut String, frame: &FrameBox) {
    let _ = write!(text, "<g class=\"{}\">", class(frame.level));
    rect(text, frame.rect, "node", 8);
    text.push_str("</g>\n");
}

fn rect(text: &mut String, rect: Rect, class: &str, radius: i32) {
    let Rect { x, y, width, height } = rect;
    let _ = write!(
        text,
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\"/>"
    );
}

fn label(text: &mut String, label: &Label, is_at_end: bool) {
    if label.text.is_empty() {
        return;
    }
    let class = match label.style {
        Style::Name => "name",
        Style::Detail => "detail",
        Style::Note => "note",
        Style::Problem => "problem",
    };
    let end = if is_at_end { " end" } else { "" };
    let Label { x, y, .. } = label;
    let title = label.full.as_ref().map(|full| format!("<title>{}</title>", escape(full))).unwrap_or_default();
    let _ = write!(text, "<text class=\"{class}{end}\" x=\"{x}\" y=\"{y}\">{}{title}</text>", escape(&label.text));
}

fn hint(text: &mut String, hint: &str) {
    let _ = write!(text, "<title>{}</title>", escape(hint));
}

/// Draws a wire above what it crosses.
fn draw_wire(text: &mut String, wire: &Wire) {
    let mut path = String::new();
    for (index, (x, y)) in wire.points.iter().enumerate() {
        let _ = write!(path, "{}{x} {y}", if index == 0 { "M" } else { "L" });
    }
    let inside = if wire.is_inside { " inside" } else { "" };
    let (network, color, level) = (wire.network, wire.network % COLORS, class(wire.level));
    let _ = writeln!(
        text,
        "<path class=\"halo{inside}\" d=\"{path}\"/><path class=\"wire s{color} {level}\" data-n=\"{network}\" d=\"{path}\"/>"
    );
}

fn draw_segment(text: &mut String, segment: &Segment) {
    let Segment { rect: place, network, level, name, nodes, details } = segment;
    let _ = write!(text, "<g class=\"segment {}\" data-n=\"{network}\">", class(*level));
    rect(text, *place, "row", 4);
    stripe(text, *place, *network);
    label(text, name, false);
    label(text, nodes, true);
    for detail in details {
        label(text, detail, false);
    }
    text.push_str("</g>\n");
}

/// Draws the colour of a network at the left border of a box.
fn stripe(text: &mut String, place: Rect, network: usize) {
    let Rect { x, y, height, .. } = place;
    let color = network % COLORS;
    let _ = write!(
        text,
        "<rect class=\"f{color}\" x=\"{}\" y=\"{}\" width=\"5\" height=\"{}\" rx=\"2\"/>",
        x + 3,
        y + 4,
        height - 8
    );
}

fn draw_frame(text: &mut String, frame: &FrameBox) {
    let FrameBox { rect: place, level, name, engines, notes, nics, bridges, pods } = frame;
    let _ = write!(text, "<g class=\"frame {}\">", class(*level));
    let (x, y) = (place.x + 16, place.y + 19);
    let _ = write!(text, "<circle class=\"dot {}\" cx=\"{x}\" cy=\"{y}\" r=\"4\"/>", class(*level));
    label(text, name, false);
    label(text, engines, true);
    for note in notes {
        label(text, note, false);
    }
    for nic in nics {
        draw_plain(text, nic, "nic");
    }
    for bridge in bridges {
        draw_plain(text, bridge, "box");
    }
    for pod in pods {
        draw_pod(text, pod);
    }
    text.push_str("</g>\n");
}

fn draw_plain(text: &mut String, plain: &Plain, kind: &str) {
    let network = plain.network.map(|network| format!(" data-n=\"{network}\"")).unwrap_or_default();
    let _ = write!(text, "<g class=\"{}\"{network}>", class(plain.level));
    hint(text, &plain.hint);
    rect(text, plain.rect, kind, 4);
    if let Some(network) = plain.network {
        stripe(text, plain.rect, network);
    }
    for line in &plain.labels {
        label(text, line, false);
    }
    text.push_str("</g>");
}

fn draw_pod(text: &mut String, pod: &Pod) {
    let _ = write!(text, "<g class=\"pod {}\">", class(pod.level));
    rect(text, pod.rect, "box", 12);
    label(text, &pod.name, false);
    for PortRow { y, network, level, interface, state } in &pod.ports {
        let _ = write!(text, "<g data-n=\"{network}\"><circle class=\"dot {}\" ", class(*level));
        let _ = write!(text, "cx=\"{}\" cy=\"{y}\" r=\"4\"/>", pod.rect.x + 14);
        label(text, interface, false);
        label(text, state, true);
        text.push_str("</g>");
    }
    text.push_str("</g>");
}
