//! The commands for users on a node, `usnet node status`, `usnet node history` and `usnet node
//! attachments`, `usnet node ports`, and the files that they read. They need neither an API server
//! nor a running agent.
//!
//! - [`command`]: the command line;
//! - [`status`], [`history`], [`attachments`] (IO): read a file and print it as [`output`] says;
//! - [`ports`] (IO): reads the counters of the engines;
//! - [`bundle`] (IO): everything for a bundle of diagnostics;
//! - [`state_file`], [`history_file`] (IO): the files, which the agent writes.

mod attachments;
pub(crate) mod bundle;
mod command;
mod history;
pub mod history_file;
mod output;
mod ports;
pub mod state_file;
mod status;

pub use command::{Options, run};
pub use output::{Error, Output, age, table};

#[cfg(test)]
mod tests;
