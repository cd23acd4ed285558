//! Values that the tests of several crates need.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

pub mod api_server;
