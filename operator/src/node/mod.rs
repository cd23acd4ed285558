//! The commands for users on a node, and the files that they read: `usnet node status`, `history`,
//! `attachments`, `ports` and `capture`. They need neither an API server nor a running agent.
//!
//! - [`command`]: the command line;
//! - [`status`], [`history`], [`attachments`] (IO): read a file and print it as [`output`] says;
//! - [`ports`] (IO): reads the counters of the engines;
//! - [`bundle`] (IO): everything for a bundle of diagnostics;
//! - [`capture`] (IO): copies frames of an interface;
//! - [`bridge`] (IO): the bridge of a network as the engine has it;
//! - [`state_file`], [`history_file`] (IO): the files, which the agent writes.

mod attachments;
pub(crate) mod bridge;
pub(crate) mod bundle;
mod capture;
mod command;
mod history;
pub mod history_file;
mod output;
mod ports;
pub mod state_file;
mod status;

pub(crate) use capture::Limits as CaptureLimits;
pub use command::{Options, run};
pub use output::{Error, Output, age, table};

#[cfg(test)]
mod tests;
