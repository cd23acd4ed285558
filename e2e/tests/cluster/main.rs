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
mod api_outage;
mod audit;
mod bad_input;
mod bad_objects;
mod cluster;
mod controllers;
mod crds_removed;
mod definitions;
mod deletion;
mod device_plugin;
mod direct;
mod drift;
mod edited_by_hand;
mod footprint;
mod forged_status;
mod forgotten;
mod guards;
mod leaders;
mod legacy_definitions;
mod legacy_handoff;
mod legacy_nads;
mod mixed;
mod nad_abuse;
mod networks;
mod node_file;
mod outages;
mod pod_churn;
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
mod soak;
mod stateful_set;
mod status;
mod storm;
mod testpmd;
mod threats;
mod token_theft;
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
