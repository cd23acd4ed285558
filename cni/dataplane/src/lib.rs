//! The desired and the observed state of a node's engines, and the operations in between.
//!
//! - [`model`]: the values, above all [`desired`] and [`observed`] state. No IO.
//! - [`plan`]: the diff of both states, as operations. No IO.
//! - [`engine`]: [`engine::EngineDriver`], and a driver for each engine, which observes and
//!   applies. IO on control sockets.
//! - [`capture`]: copies of frames of ports, for a program. IO on the engines' sockets.
//! - [`counters`]: traffic of ports. IO on the engines' sockets.
//! - [`inspect`]: learned addresses, and texts of engines for diagnostics. IO on their sockets.
//! - [`store`]: files on the node: the [`journal`] of attachments, the [`network_file`]s for the
//!   plugin. IO on files.
//! - `links` (feature): VXLAN devices of the node; `isolation` (feature): what keeps the node out
//!   of the networks; `nftables` (feature): rules for packets of the node; `netlink` (feature):
//!   requests to the kernel. IO on netlink.
//! - [`legacy`]: file names, annotation and ports of Intel's userspace CNI. No IO.

pub mod capture;
pub mod counters;
pub mod engine;
pub mod inspect;
#[cfg(feature = "isolation")]
pub mod isolation;
pub mod legacy;
#[cfg(feature = "links")]
pub mod links;
pub mod model;
#[cfg(feature = "netlink")]
pub mod netlink;
#[cfg(feature = "nftables")]
pub mod nftables;
pub mod plan;
pub mod store;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use engine::{ovs, vpp};
pub use legacy::{annotation as legacy_annotation, port as legacy_port};
pub use model::{
    attachment, bridge_settings, desired, drift, memif, observed, owner, port, routing, tagging, underlay, uplink,
};
pub use store::{atomic_file, call_log, claim_records, definition_ipam, journal, locks};
pub use store::{network_file, network_namespace, nic_offloads, node_file, paths, sandboxes, shared_dirs, unselected};
