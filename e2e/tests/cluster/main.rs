//! Tests on a real cluster, as its users see it: run by `make test` inside a world of two nodes that has usnet installed.
//!
//! Each test has a namespace and networks of its own. They run one after another, because some stop parts that all share.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "all of this program is test code, and a test fails by panicking"
)]

mod bad_input;
mod cluster;
mod deletion;
mod drift;
mod footprint;
mod networks;
mod outages;
mod pods;
mod privileges;
mod scene;
mod traffic;
