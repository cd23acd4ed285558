//! The agent against real engines, without an API server: specs come through a channel, from manifests or from the node file, reports go into a channel or the state file.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod attachments;
mod definitions;
mod device_plugin;
mod history;
mod kubelet;
mod manifests;
mod networks;
mod node;
mod outages;
mod running_agent;
mod selecting_agent;
mod selection;
mod standalone_agent;
mod testbed;
mod vpp;
