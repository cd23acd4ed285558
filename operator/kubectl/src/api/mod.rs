//! Requests to the API server and to agents, with the permissions of the user (IO).
//!
//! - [`cluster`]: the connection, and lists of objects;
//! - [`read`]: all objects of usnet, with what could not be read;
//! - [`pods`]: pods, the interfaces that they have without a NetworkAttachmentDefinition,
//!   reservations, and policies; [`engines`]: UserspaceEngines;
//! - [`exec`], [`stream`]: programs in the containers of usnet; [`connection`]: what can happen to
//!   their connections.

mod cluster;
mod connection;
mod engines;
mod exec;
mod pods;
mod read;
mod stream;
#[cfg(test)]
mod tests;

pub(crate) use cluster::{Cluster, ConnectionOptions, Listed, Scope};
pub(crate) use engines::{read_engine_pods, read_engines, read_node_facts};
pub(crate) use exec::{log_of, run_command, run_on_nodes, run_usnet};
pub(crate) use pods::{read_interfaces, read_pods, read_policies, read_reservations};
pub(crate) use read::{
    MULTUS_MISSING, is_unknown_kind, optional, read_allowed, read_definitions, read_definitions_for, read_usnet,
    unreadable,
};
pub(crate) use stream::stream_from;
