//! The clients against a real `ovsdb-server` and `ovs-vswitchd`, and the decoders with malformed
//! input.
#![expect(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod common;
mod malformed;
mod monitor;
mod schema;
#[cfg(feature = "async")]
mod session;
mod transactions;
mod vswitchd;
