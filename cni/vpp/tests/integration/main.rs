//! The clients against a real VPP and against a scripted one, and the decoders with malformed
//! input.
#![expect(clippy::expect_used, reason = "a test fails by panicking")]
#![cfg_attr(not(feature = "async"), allow(dead_code, reason = "the tests of sessions use the rest"))]

mod blocking;
mod common;
mod faults_blocking;
#[cfg(feature = "async")]
mod faults_opening;
#[cfg(feature = "async")]
mod faults_session;
mod malformed;
#[cfg(feature = "async")]
mod session;
