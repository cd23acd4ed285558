//! The desired and the observed state of a node's engines, and the operations in between.
//!
//! | folder | contents | IO |
//! |---|---|---|
//! | [`model`] | the values: [`desired`] and [`observed`] state, ports, attachments | none |
//! | [`plan`] | the comparison of both states, which returns operations | none |
//! | [`engine`] | the [`engine::EngineDriver`] trait, and a driver for each engine, which observes and applies | control sockets |
//! | [`store`] | files on the node: the [`journal`] of attachments, [`network_file`]s for the plugin | files |
//! | [`legacy`] | file names, annotation and ports of Intel's userspace CNI | none |

pub mod engine;
pub mod legacy;
pub mod model;
pub mod plan;
pub mod store;
#[cfg(test)]
mod testing;

pub use engine::{ovs, vpp};
pub use legacy::{annotation as legacy_annotation, port as legacy_port};
pub use model::{attachment, desired, drift, memif, observed, owner, port};
pub use store::{atomic_file, journal, network_file, node_file, paths, shared_dirs};
