//! Frames between two ports of a real engine, counted one by one.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod open_vswitch;
mod support;
mod vpp;
