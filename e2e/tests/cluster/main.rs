//! Tests on a real cluster from the view of its users. `make test` runs them in a test bed of two
//! nodes with usnet.
//!
//! Each test has its own namespace and networks. Tests run one after another, because some stop
//! parts of the cluster.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "all of this program is test code: a test fails by panicking, and prints what it measured"
)]

mod abuse;
mod across_nodes;
mod control_plane;
mod documentation;
mod engines;
mod faults;
mod gitops;
mod legacy;
mod monitoring;
mod networks;
mod openvswitch_image;
mod outages;
mod pods;
mod ports;
mod release;
mod resource_claims;
mod soak;
mod support;
mod upgrade;
mod virtual_machines;
