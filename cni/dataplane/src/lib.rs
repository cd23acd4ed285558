//! What the engines, the kernel and the files of a node have, and how it is changed. The values and
//! the plan of operations are those of [`usnet_planner`].
//!
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

pub mod capture;
pub mod counters;
pub mod engine;
pub mod inspect;
#[cfg(feature = "isolation")]
pub mod isolation;
#[cfg(feature = "links")]
pub mod links;
#[cfg(feature = "netlink")]
pub mod netlink;
#[cfg(feature = "nftables")]
pub mod nftables;
pub mod store;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use engine::{ovs, vpp};
pub use legacy::{annotation as legacy_annotation, port as legacy_port};
pub use model::{
    attachment, bridge, bridge_settings, desired, drift, memif, observed, owner, port, routing, tagging, underlay,
    uplink,
};
pub use store::{atomic_file, call_log, claim_records, definition_ipam, journal, locks};
pub use store::{
    bound_nics, network_file, network_namespace, nic_offloads, node_file, paths, sandboxes, shared_dirs, unselected,
};
pub use usnet_planner::{legacy, model, plan};
