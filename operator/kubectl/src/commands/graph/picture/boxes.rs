//! What is placed in a picture. Coordinates are pixels from the top left corner.

use super::super::frames::Level;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rect {
    pub x: i32,
    pub y: i32,
    pub width: i32,
    pub height: i32,
}

/// A picture.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Picture {
    pub width: i32,
    pub height: i32,
    /// What the picture shows, in numbers.
    pub title: String,
    /// The rows of the table of networks.
    pub segments: Vec<Segment>,
    pub frames: Vec<FrameBox>,
    pub wires: Vec<Wire>,
    pub junctions: Vec<Junction>,
}

/// A row of the table of networks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Segment {
    pub rect: Rect,
    /// The index of the network in the graph.
    pub network: usize,
    pub level: Level,
    pub name: Label,
    /// The number of nodes, at the right end of the row.
    pub nodes: Label,
    pub details: Vec<Label>,
}

/// The frame of a node, or of several that look the same.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FrameBox {
    pub rect: Rect,
    pub level: Level,
    pub name: Label,
    /// The engines, at the right end of the header.
    pub engines: Label,
    /// Problems of the node, and what is folded.
    pub notes: Vec<Label>,
    pub nics: Vec<Plain>,
    pub bridges: Vec<Plain>,
    pub pods: Vec<Pod>,
}

/// A NIC of an uplink or a bridge.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Plain {
    pub rect: Rect,
    pub level: Level,
    /// The index of the network of a bridge.
    pub network: Option<usize>,
    pub labels: Vec<Label>,
    /// The whole text, for users that point at the box.
    pub hint: String,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Pod {
    pub rect: Rect,
    pub level: Level,
    pub name: Label,
    pub ports: Vec<PortRow>,
}

/// An interface within the box of a pod.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PortRow {
    /// The height of the middle of the row.
    pub y: i32,
    pub network: usize,
    pub level: Level,
    pub interface: Label,
    /// The state, at the right end of the row; may be empty.
    pub state: Label,
}

/// A text at a place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Label {
    /// The left end, or the right end of a text that ends there.
    pub x: i32,
    /// The base line.
    pub y: i32,
    /// The text, shortened to the room that it has.
    pub text: String,
    /// The whole text if it was shortened.
    pub full: Option<String>,
    pub style: Style,
}

/// How a text looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Style {
    /// A name.
    #[default]
    Name,
    /// An interface, an address or the name of a NIC.
    Detail,
    Note,
    /// What is wrong.
    Problem,
}

/// A line of a network, as a sequence of points.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wire {
    pub network: usize,
    pub level: Level,
    pub points: Vec<(i32, i32)>,
    /// Whether it is within a frame.
    pub is_inside: bool,
}

/// A place where lines of a network meet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Junction {
    pub network: usize,
    pub x: i32,
    pub y: i32,
}

impl Rect {
    pub(crate) const fn right(&self) -> i32 {
        self.x + self.width
    }

    pub(crate) const fn bottom(&self) -> i32 {
        self.y + self.height
    }
}
