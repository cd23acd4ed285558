//! The client on a real Open vSwitch, and the decoders with malformed input.
#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod bundles;
mod malformed;
mod matches;
mod switch;
