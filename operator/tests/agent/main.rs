//! The agent against real engines, without an API server: specs come through a channel or from the node file, reports go into a channel.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod attachments;
mod networks;
mod node;
mod outages;
mod running_agent;
mod vpp;
mod world;
