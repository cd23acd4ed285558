//! The contract of every engine, on real ones: the cases are written once, for any
//! [`BlockingDriver`](usnet_dataplane::engine::BlockingDriver).
//!
//! Needs root; see `e2e/openvswitch` for what else.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a test ends at the first surprise")]

mod cases;
mod flood;
mod guard_frames;
mod open_vswitch;
mod switch;
mod testpmd;
mod values;
mod vpp;
