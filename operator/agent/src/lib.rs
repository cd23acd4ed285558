//! The agent: selects the networks of one node from all compiled networks, programs them into the
//! node's engines, and keeps them programmed.
//!
//! In the order in which a change passes through it:
//!
//! 1. [`watch`] (IO) reads compiled networks and the node state from the API server. On a node
//!    without an API server, the program follows a folder of manifests instead ([`Manifests`]).
//! 2. [`selection`] computes the desired state of the node, and persists it (IO).
//! 3. [`reconcile`] (IO) has a loop for each engine: observe, plan, apply, verify, report.
//!    [`engines`] (IO) are the connections.
//! 4. [`report`] merges the results into one status of the node, and writes it (IO).
//!
//! Beside these steps:
//!
//! - [`attachments`] (IO) attaches interfaces to running pods.
//! - [`captures`] (IO) removes what captures left in the engines.
//! - [`claims`] (IO) attaches ports for Kubernetes' resource claims.
//! - [`cni_configurations`] (IO) reads configurations of the Userspace CNI (Intel) from files of
//!   the node.
//! - [`device_plugin`] (IO) offers networks to kubelet as extended resources.
//! - [`isolation`] (IO) isolates the node from the networks of its engines.
//! - [`legacy_pods`] (IO) takes over pods that the Userspace CNI (Intel) attached.
//! - [`pod_annotations`] (IO) writes the annotations that programs for the Userspace CNI (Intel)
//!   read.
//! - [`writable_directories`] (IO) checks that attachments can be recorded.
//! - [`run`](mod@run) connects everything by channels; [`run::node_agent`] is the part that needs
//!   no API server.
//!
//! [`model`] has the types that the steps pass to each other.

pub(crate) mod attachments;
mod captures;
pub mod claims;
pub mod cni_configurations;
pub mod device_plugin;
mod engines;
mod isolation;
mod legacy_pods;
pub mod model;
mod pod_annotations;
mod reconcile;
pub mod report;
pub mod run;
pub mod selection;
mod task_cell;
#[cfg(test)]
pub(crate) mod testing;
mod watch;
mod writable_directories;

pub use run::error::Error;
pub use run::manifests::Manifests;
pub use run::node_agent::Agent;
pub use run::{Options, run, run_at};
