//! The parts of the API server's objects that the commands use. Pure.
//!
//! - [`snapshot`]: the objects that were read, and what could not be read;
//! - [`pod`]: the fields of a pod that concern its networks;
//! - [`policies`]: the policies of a network and the pods that they select;
//! - [`selection`]: the networks that a pod selects by its annotation;
//! - [`interface`]: the interfaces of a pod, as Multus reports them;
//! - [`engine`]: UserspaceEngines, and what has to be known of their nodes;
//! - [`claim`], [`added`]: interfaces by resource claims, and those added to running pods;
//! - [`placements`]: the nodes of a network, and the progress of each.

pub(crate) mod added;
pub(crate) mod claim;
pub(crate) mod engine;
pub(crate) mod interface;
pub(crate) mod placements;
pub(crate) mod pod;
pub(crate) mod policies;
pub(crate) mod selection;
pub(crate) mod snapshot;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use added::Added;
pub(crate) use claim::Claim;
pub(crate) use engine::Engine;
pub(crate) use pod::{Mount, Pod};
pub(crate) use policies::NetworkPolicies;
pub(crate) use snapshot::{Objects, Snapshot, Unread};
