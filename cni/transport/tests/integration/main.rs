//! Sockets and sessions against peers that the tests script.
#![expect(clippy::expect_used, reason = "a test fails by panicking")]

mod blocking;
#[cfg(feature = "async")]
mod session;
