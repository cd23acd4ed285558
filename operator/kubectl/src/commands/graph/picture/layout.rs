//! Places everything in a picture. Pure: the same graph always has the same picture.

use super::super::frames::{Frame, Level, frames};
use super::super::report::Graph;
use super::boxes::{Picture, Wire};
use super::columns::{Area, columns};
use super::segments::segments;
use crate::output::count;
use std::collections::BTreeMap;

const MARGIN: i32 = 24;
/// The height of the title and the legend.
const HEAD: i32 = 62;

pub(crate) fn layout(graph: &Graph) -> Picture {
    let frames = frames(graph);
    let segments = segments(graph, (MARGIN, MARGIN + HEAD));
    let table = segments.last().map(|segment| (segment.rect.right(), segment.rect.bottom()));
    let (x, table_bottom) = table.unwrap_or((MARGIN, MARGIN + HEAD));
    let rows: BTreeMap<usize, i32> =
        segments.iter().map(|segment| (segment.network, segment.rect.y + segment.rect.height / 2)).collect();
    let area = Area { x, y: MARGIN + HEAD, height: table_bottom - MARGIN - HEAD };
    let found = columns(graph, &frames, &rows, area);
    let mut wires = found.wires;
    for (network, lane) in &found.lanes {
        if let Some(y) = rows.get(network) {
            wires.push(Wire { network: *network, points: vec![(x, *y), (*lane, *y)], ..Wire::default() });
        }
    }
    // Vertical lines first, so that others pass above them.
    wires.sort_by_key(|wire| !matches!(wire.points.as_slice(), [(one, _), (other, _)] if one == other));
    Picture {
        width: found.right.max(x).max(WIDTH_MIN) + MARGIN,
        height: found.bottom.max(table_bottom) + MARGIN,
        title: title(graph, &frames),
        segments,
        frames: found.frames,
        wires,
        junctions: found.junctions,
    }
}

/// The width of the legend.
const WIDTH_MIN: i32 = 1040;

fn title(graph: &Graph, frames: &[Frame<'_>]) -> String {
    let pods = frames.iter().map(|frame| frame.pods.len()).sum();
    let bad = frames.iter().filter(|frame| frame.level() == Level::Bad).map(|frame| frame.nodes.len()).sum();
    let bad = if bad == 0 { "no problem".to_owned() } else { format!("{} with a problem", count(bad, "node")) };
    let (networks, nodes) = (count(graph.networks.len(), "network"), count(graph.nodes.len(), "node"));
    format!("{networks}, {nodes}, {}; {bad}", count(pods, "pod"))
}
