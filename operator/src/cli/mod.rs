//! The programs of the binary `usnet`.
//!
//! - [`command_line`]: which program runs, and its async runtime;
//! - [`logging`], [`shutdown`]: what all programs share;
//! - [`install_plugin`] (IO): the program that installs the CNI plugin.

pub mod command_line;
pub mod install_plugin;
pub mod logging;
pub mod shutdown;
