//! Tests on a real cluster, as its users see it: run by `make test` inside a world of two nodes that has usnet installed.
//!
//! Each test has a namespace and networks of its own. They run one after another, because some stop parts that all share.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "all of this program is test code: a test fails by panicking, and prints what it measured"
)]

mod annotation;
mod audit;
mod bad_input;
mod bad_objects;
mod cluster;
mod controllers;
mod crds_removed;
mod crowd;
mod definitions;
mod deletion;
mod device_plugin;
mod direct;
mod drift;
mod edited_by_hand;
mod footprint;
mod forgotten;
mod guards;
mod lasting;
mod leaders;
mod legacy_nads;
mod life;
mod mixed;
mod nad_abuse;
mod networks;
mod node_file;
mod old_definitions;
mod old_handover;
mod outages;
mod pods;
mod privileges;
mod proxied;
mod proxied_agent;
mod proxied_controller;
mod proxy;
mod restored;
mod samples;
mod scene;
mod silent_agent;
mod simulated;
mod slow_api_server;
mod slow_for_agents;
mod stateful_set;
mod status;
mod stolen;
mod stolen_status;
mod storm;
mod testpmd;
mod threats;
mod traffic;
mod uninstalled;
mod versions;
mod veth;
mod vpp;
mod vpp_outages;
mod vpp_requests;
mod vpp_traffic;
mod whereabouts;
mod without_multus;
