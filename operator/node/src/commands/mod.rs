//! The commands for users on a node, `usnet node …`. They need neither an API server nor a running
//! agent.
//!
//! - [`command`] is the command line.
//! - [`status`], [`history`] and [`attachments`] (IO) read files and print them in the format of
//!   [`output`].
//! - [`ports`] (IO) reads the counters of the engines.
//! - [`bundle`] (IO) collects diagnostics.
//! - [`capture`] (IO) copies frames of an interface.
//! - [`bridge`] (IO) reads the bridge of a network from the engine.

mod attachments;
mod bridge;
mod bundle;
mod capture;
mod command;
mod history;
mod output;
mod ports;
mod status;

pub use command::{Options, run};
pub use output::{Error, Output};

#[cfg(test)]
mod tests;
