//! `kubectl usnet`: a plugin of kubectl that shows the state of a whole cluster. It runs on the
//! machines of users, so nothing here needs Linux. Only the command `test` changes networks or
//! pods.
//!
//! - [`command_line`]: options, and which command runs; [`completion`]: completion in shells;
//! - [`api`] (IO): objects of the API server, and the programs in agents' containers;
//! - [`model`]: the parts of these objects that commands use. Pure;
//! - [`commands`]: each command, as a pure function from these values to a report, and its text;
//! - [`output`]: a report as text, JSON or YAML; [`html`]: as a page;
//! - [`error`]: errors and exit statuses.

pub(crate) mod api;
pub(crate) mod command_line;
pub(crate) mod commands;
pub(crate) mod completion;
pub(crate) mod error;
pub(crate) mod html;
pub(crate) mod model;
pub(crate) mod output;
mod private_file;

pub use command_line::main;

#[cfg(test)]
mod browser;
#[cfg(test)]
mod documentation;
#[cfg(test)]
mod portability;
