//! The operator: the [`controller`] computes the desired state of every node (one for the cluster),
//! and the [`agent`] reconciles its node (one for each node). The binary `usnet` runs one or the
//! other; `usnet install-plugin` installs the CNI plugin on a node.

pub mod agent;
pub(crate) mod api_error;
pub mod api_server;
pub(crate) mod backoff;
pub mod command_line;
pub mod controller;
pub mod error_chain;
pub mod history;
pub mod install_plugin;
pub mod leader;
pub mod logging;
pub mod node;
pub mod one_line;
pub mod shutdown;
pub mod standalone;
pub mod telemetry;
mod watch;
