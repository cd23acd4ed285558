//! Frames by which a pod would reach, steer or use its node, if the node were part of the network.
//! Tests send them from a pod's end and look for effects.
//!
//! - [`frames()`] builds them for one [`Target`]. It does no IO.
//! - [`send()`] sends them from a network namespace (IO).

mod build;
mod frames;
mod send;

pub use frames::{ADVERTISED, Frame, PORT, Target, frames};
pub use send::send;
