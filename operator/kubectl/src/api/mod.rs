//! Requests to the API server and to agents, with the permissions of the user (IO).
//!
//! - [`cluster`]: the connection, and lists of objects;
//! - [`read`]: all objects of usnet, with what could not be read;
//! - [`exec`], [`stream`]: programs in the containers of usnet.

mod cluster;
mod exec;
mod read;
mod stream;

pub(crate) use cluster::{Cluster, ConnectionOptions, Scope};
pub(crate) use exec::{log_of, run_command, run_on_nodes, run_usnet};
pub(crate) use read::{MULTUS_MISSING, is_unknown_kind, optional, read_definitions, read_usnet, unreadable};
pub(crate) use stream::stream_from;
