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
mod crowd;
mod deletion;
mod device_plugin;
mod direct;
mod drift;
mod footprint;
mod forgotten;
mod guards;
mod lasting;
mod leaders;
mod life;
mod mixed;
mod networks;
mod old_definitions;
mod old_handover;
mod outages;
mod pods;
mod privileges;
mod samples;
mod scene;
mod stateful_set;
mod status;
mod stolen;
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
