//! The API server and the containers of agents, as the user of `kubectl usnet` may use them (IO).
//!
//! - [`cluster`]: the connection, and lists of objects;
//! - [`read`]: all objects of usnet, with what could not be read;
//! - [`exec`]: programs in the containers of usnet.

mod cluster;
mod exec;
mod read;
mod stream;

pub(crate) use cluster::{Cluster, ConnectionOptions, Scope};
pub(crate) use exec::{each_node, log_of, run_in, run_program};
pub(crate) use read::{WITHOUT_MULTUS, is_missing, optional, read_definitions, read_usnet, unreadable};
pub(crate) use stream::stream_from;
