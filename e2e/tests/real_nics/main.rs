//! Uplinks on real NICs: two nodes are machines of QEMU, whose NICs are connected by cables. Each
//! node has an engine and an agent that follows a folder of manifests, and its pods are network
//! namespaces. `make real-nics` runs all tests and prints their figures.
//!
//! - [`bed`]: both nodes, with an engine and agents; [`setup`]: engine, driver and NIC of a test;
//! - [`pod`], [`traffic`]: pods, and what arrives at them; [`by_hand`]: the same without usnet;
//! - [`bonds`], [`carry`], [`faults`], [`identify`], [`speed`], [`taken`], [`tap`]: the tests, and
//!   [`bed_itself`]: one of the machines.
//!
//! What this machine cannot do prints `SKIPPED` with the reason, and is counted in the figures.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "all of this program is test code: a test fails by panicking, and prints what it measured"
)]

mod bed;
mod bed_itself;
mod bonds;
mod by_hand;
mod carry;
mod faults;
mod identify;
mod pod;
#[path = "../cluster/across_nodes/measure/report.rs"]
mod report;
mod setup;
mod speed;
mod taken;
mod tap;
mod traffic;
