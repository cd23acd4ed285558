//! The graph as a picture, without other programs: [`mod@layout`] places boxes and lines (pure),
//! and [`svg`] writes them. Networks are a table at the left; a network that connects nodes is a
//! line from its row to its bridge on each node, as segments are in diagrams of networks.
//!
//! - [`boxes`]: what is placed;
//! - [`frame`]: the boxes within the frame of a node;
//! - [`columns`]: frames in columns;
//! - [`segments`]: the table of networks;
//! - [`sizes`], [`measure`]: sizes of boxes and texts.

pub(crate) mod boxes;
mod columns;
mod frame;
pub(crate) mod layout;
mod measure;
mod segments;
mod sizes;
mod svg;

pub(crate) use svg::{STYLE, document, element};

#[cfg(test)]
mod tests;
