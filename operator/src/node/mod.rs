//! The commands for users on a node, `usnet node status` and `usnet node history`, and the files
//! that they read. Both need neither an API server nor a running agent.
//!
//! - [`command`]: the command line;
//! - [`status`], [`history`] (IO): read a file and print it as [`output`] says;
//! - [`state_file`], [`history_file`] (IO): the files, which the agent writes.

mod command;
mod history;
pub mod history_file;
mod output;
pub mod state_file;
mod status;

pub use command::{Options, run};
pub use output::{Error, Output};

#[cfg(test)]
mod tests;
