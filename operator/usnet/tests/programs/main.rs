//! The real programs of `usnet`, as processes.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "all of this program is test code: a test fails by panicking"
)]

mod capture;
mod engine_privileges;
mod memory;
mod telemetry;
