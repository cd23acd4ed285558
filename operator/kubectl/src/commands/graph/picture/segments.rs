//! The table of networks at the left of a picture.

use super::super::frames::Level;
use super::super::report::{Graph, NetworkVertex, NodeVertex, first_word};
use super::boxes::{Rect, Segment, Style};
use super::sizes::{LINE, PADDING, label, labels};
use crate::output::{count, line};

const WIDTH_MIN: i32 = 220;
const WIDTH_MAX: i32 = 420;
/// The distance of rows.
const ROW_GAP: i32 = 8;

/// Returns the rows below each other, the first with its top left corner at `origin`.
pub(super) fn segments(graph: &Graph, (x, y): (i32, i32)) -> Vec<Segment> {
    let texts: Vec<_> = graph.networks.iter().map(Row::of).collect();
    let width = texts.iter().map(Row::width).max().unwrap_or_default().clamp(WIDTH_MIN, WIDTH_MAX);
    let mut y = y;
    let row = |(network, row): (usize, Row)| {
        let height = i32::try_from(row.details.len()).unwrap_or_default() * LINE + 30;
        let rect = Rect { x, y, width, height };
        y += height + ROW_GAP;
        let (left, room) = (x + PADDING + 8, width - 2 * PADDING - 8);
        let counted = Style::Note.font().width(&row.nodes);
        let name = label((left, rect.y + 19), &row.name, Style::Name, room - counted - PADDING);
        let nodes = label((rect.right() - PADDING, rect.y + 19), &row.nodes, Style::Note, counted);
        let details = labels((left, rect.y + 19 + LINE), &row.details, room);
        Segment { rect, network, level: row.level, name, nodes, details }
    };
    texts.into_iter().enumerate().map(row).collect()
}

struct Row {
    level: Level,
    name: String,
    nodes: String,
    details: Vec<(Style, String)>,
}

impl Row {
    fn of(network: &NetworkVertex) -> Self {
        let mut details = vec![(Style::Note, line(&network.description)), (Style::Note, line(&network.topology))];
        let mut bad = network.nodes.iter().filter(|node| node.has_own_failure()).peekable();
        if let Some(first) = bad.peek() {
            let reason = line(first_word(&first.state, &first.reason));
            details.push((Style::Problem, format!("{reason} on {}", count(bad.count(), "node"))));
        }
        let interfaces: i64 = network.nodes.iter().map(NodeVertex::attachments).sum();
        let interfaces = count(usize::try_from(interfaces).unwrap_or_default(), "interface");
        let nodes = format!("{}, {interfaces}", count(network.nodes.len(), "node"));
        let level = if network.nodes.iter().any(NodeVertex::has_own_failure) { Level::Bad } else { Level::Good };
        Self { level, name: line(&network.name), nodes, details }
    }

    fn width(&self) -> i32 {
        let head = Style::Name.font().width(&self.name) + Style::Note.font().width(&self.nodes) + 2 * PADDING;
        let details = self.details.iter().map(|(style, text)| style.font().width(text));
        details.chain([head]).max().unwrap_or_default() + 2 * PADDING + 8
    }
}
