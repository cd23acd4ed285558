//! Places frames in columns. At the left of each column a network that connects nodes is a vertical
//! line, a lane; lines above the columns connect the lanes of one network.

use super::super::frames::Frame;
use super::super::report::Graph;
use super::boxes::{FrameBox, Junction, Wire};
use super::frame::{Placed, Tap, place};
use super::sizes::{LANE, Sizes};
use std::collections::{BTreeMap, BTreeSet};

const FRAME_GAP: i32 = 16;
/// The room between lanes and what is beside them.
const LANES_GAP: i32 = 18;
/// The width of a picture for its height, in tenths.
const ASPECT: i32 = 15;

/// The frames with the lines between them.
#[derive(Debug, Clone, Default)]
pub(super) struct Columns {
    pub frames: Vec<FrameBox>,
    pub wires: Vec<Wire>,
    pub junctions: Vec<Junction>,
    /// The place of the first lane of each network.
    pub lanes: BTreeMap<usize, i32>,
    pub right: i32,
    pub bottom: i32,
}

/// Where columns begin, and how tall they should be at least.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    pub x: i32,
    pub y: i32,
    pub height: i32,
}

/// The ends of a lane while it is drawn.
struct Span {
    top: i32,
    bottom: i32,
}

pub(super) fn columns(graph: &Graph, frames: &[Frame<'_>], rows: &BTreeMap<usize, i32>, area: Area) -> Columns {
    let sizes = Sizes::of(graph, frames);
    let split = split(graph, frames, sizes, area.height);
    let networks: Vec<BTreeSet<usize>> = split.iter().map(|column| connected(graph, column)).collect();
    // The lines above the columns, for networks that are in several of them.
    let shared: BTreeSet<usize> = networks.iter().skip(1).flatten().copied().collect();
    let busses: BTreeMap<usize, i32> =
        shared.iter().copied().zip((area.y..).step_by(LANE.unsigned_abs() as usize)).collect();
    let height = i32::try_from(busses.len()).unwrap_or_default() * LANE;
    let (mut found, mut x) = (Columns { right: area.x, bottom: area.y, ..Columns::default() }, area.x);
    let top = area.y + if height == 0 { 0 } else { height + LANES_GAP };
    let all: BTreeSet<usize> = networks.iter().flatten().copied().collect();
    for (index, column) in split.iter().enumerate() {
        let own = if index == 0 { Some(&all) } else { networks.get(index) };
        let own = own.cloned().unwrap_or_default();
        let lanes = own.iter().copied().zip((x + LANES_GAP..).step_by(LANE.unsigned_abs() as usize));
        let lanes: BTreeMap<usize, i32> = lanes.collect();
        let left = if lanes.is_empty() { x + LANES_GAP } else { x + 2 * LANES_GAP + width(&lanes) };
        let taps = found.add_column(graph, column, sizes, (left, top));
        found.connect(&taps, &lanes, &busses, if index == 0 { Some(rows) } else { None });
        x = left + sizes.frame();
        found.right = found.right.max(x);
    }
    found
}

fn width(lanes: &BTreeMap<usize, i32>) -> i32 {
    i32::try_from(lanes.len().saturating_sub(1)).unwrap_or_default() * LANE
}

/// Returns the networks of these frames that connect nodes.
fn connected(graph: &Graph, frames: &[Frame<'_>]) -> BTreeSet<usize> {
    let is_connected = |network: &usize| graph.networks.get(*network).is_some_and(|it| it.connects_nodes);
    frames.iter().flat_map(|frame| &frame.bridges).map(|bridge| bridge.network).filter(is_connected).collect()
}

/// Splits the frames into columns, so that the picture is somewhat wider than tall.
fn split<'a, 'b>(graph: &Graph, frames: &'b [Frame<'a>], sizes: Sizes, least: i32) -> Vec<&'b [Frame<'a>]> {
    let height = |frame| place(graph, frame, sizes, (0, 0)).frame.rect.height + FRAME_GAP;
    let heights: Vec<i32> = frames.iter().map(height).collect();
    let total: i64 = heights.iter().map(|height| i64::from(*height)).sum();
    let width = i64::from(sizes.frame() + 4 * LANES_GAP);
    let tallest = (total * width * 10 / i64::from(ASPECT)).isqrt().max(i64::from(least));
    let (mut columns, mut begin, mut filled) = (Vec::new(), 0, 0);
    for (index, height) in heights.iter().map(|height| i64::from(*height)).enumerate() {
        if filled > 0 && filled + height > tallest + i64::from(FRAME_GAP) {
            columns.extend(frames.get(begin..index));
            (begin, filled) = (index, 0);
        }
        filled += height;
    }
    columns.extend(frames.get(begin..).filter(|rest| !rest.is_empty()));
    columns
}

impl Columns {
    /// Places frames below each other, and returns where networks leave them.
    fn add_column(&mut self, graph: &Graph, frames: &[Frame<'_>], sizes: Sizes, (x, y): (i32, i32)) -> Vec<Tap> {
        let (mut y, mut all) = (y, Vec::new());
        for frame in frames {
            let Placed { frame, wires, taps } = place(graph, frame, sizes, (x, y));
            y = frame.rect.bottom() + FRAME_GAP;
            self.bottom = self.bottom.max(frame.rect.bottom());
            self.frames.push(frame);
            self.wires.extend(wires);
            all.extend(taps);
        }
        all
    }

    /// Draws the lanes of a column: from the lines above, or the rows of the table, to each tap.
    fn connect(
        &mut self,
        taps: &[Tap],
        lanes: &BTreeMap<usize, i32>,
        busses: &BTreeMap<usize, i32>,
        rows: Option<&BTreeMap<usize, i32>>,
    ) {
        for (&network, &x) in lanes {
            let (bus, row) = (busses.get(&network).copied(), rows.and_then(|rows| rows.get(&network)).copied());
            let Some(first) = bus.or(row) else { continue };
            let mut lane = Span { top: first, bottom: first };
            lane.reach(row.unwrap_or(first));
            for tap in taps.iter().filter(|tap| tap.network == network) {
                lane.reach(tap.y);
                let points = vec![(x, tap.y), (tap.x, tap.y)];
                self.wires.push(Wire { network, level: tap.level, points, is_inside: false });
                self.junctions.push(Junction { network, x, y: tap.y });
            }
            let from = *self.lanes.entry(network).or_insert(x);
            if let Some(y) = bus.filter(|_| from != x) {
                self.wires.push(Wire { network, points: vec![(from, y), (x, y)], ..Wire::default() });
                self.junctions.push(Junction { network, x: from, y });
            }
            self.wires.push(Wire { network, points: vec![(x, lane.top), (x, lane.bottom)], ..Wire::default() });
        }
    }
}

impl Span {
    fn reach(&mut self, y: i32) {
        (self.top, self.bottom) = (self.top.min(y), self.bottom.max(y));
    }
}
