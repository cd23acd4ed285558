//! The agent's loop against a real Open vSwitch, without an API server: specs come through a channel or from the node file, reports go into a channel.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod attachments;
mod networks;
mod outages;
mod world;
