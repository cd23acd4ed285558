//! `kubectl usnet`: the state of a whole cluster for users, by a plugin of kubectl. It is the same
//! binary as all other programs of usnet, under the name `kubectl-usnet`. No command but `test`
//! changes networks or pods.
//!
//! - [`command_line`]: options, and which command runs; [`completion`]: what a shell may complete;
//! - [`api`] (IO): objects of the API server, and the programs in agents' containers;
//! - [`model`]: what of these objects is used. Pure;
//! - [`commands`]: each command, as a pure function from these values to a report, and its text;
//! - [`output`]: a report as text, JSON or YAML; [`error`]: why there is none, and exit statuses.

pub(crate) mod api;
pub(crate) mod command_line;
pub(crate) mod commands;
pub(crate) mod completion;
pub(crate) mod error;
pub(crate) mod model;
pub(crate) mod output;

pub use command_line::{COMPLETION_NAME, NAME, main};

#[cfg(test)]
mod documentation;
