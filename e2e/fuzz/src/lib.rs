//! Malformed inputs for parsers of data that others wrote: a runtime, a user, a database, a file on
//! a disk.
//!
//! A target is the module `malformed` in the integration tests of the crate that has the parser. It
//! takes inputs from a [`Corpus`] and gives them to the parser in a [`FuzzRun`]:
//!
//! - `make test` runs the short form, with the same inputs in each run;
//! - `make fuzz` runs each target for `USNET_FUZZ_SECONDS`; `USNET_FUZZ_SEED` selects other inputs,
//!   `USNET_FUZZ_INPUTS` sets their number instead.
//!
//! An input that made a parser fail becomes a seed of its corpus.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and prints the input"
)]

mod corpus;
mod random;
mod run;

pub use corpus::Corpus;
pub use random::Random;
pub use run::{FuzzRun, Input, Parsed};
