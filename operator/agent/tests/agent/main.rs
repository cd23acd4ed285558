//! The agent against real engines, without an API server: specs come through a channel, from
//! manifests or from the node file; reports go into a channel or the state file.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod cni_configurations;
mod device_plugin;
mod history;
mod node_files;
mod open_vswitch;
mod selection;
mod standalone;
mod support;
mod vpp;
