//! The last observed state of the cluster, parsed: the only input of the pure steps. Its size does
//! not grow with networks × nodes. All of it is pure:
//!
//! 1. [`partial_objects`]: the fields of objects that are deserialized at all;
//! 2. [`parse`]: from these to [`objects`], [`nads`] and their [`fingerprint`]s;
//! 3. the [`Cache`], to which watch events are applied; it also assigns node numbers, and VNIs,
//!    uplinks and subnets, which only one network can have ([`overlays`], [`uplink_use`],
//!    [`routing_domains`]); agents decide on bridges that several networks request
//!    ([`bridge_rivals`], [`adopted_bridges`]);
//! 4. [`attachments`]: attachments, and the pods that were read for them;
//! 5. [`reservations`], and what each gets of its network ([`reserving`]);
//! 6. [`dirty`]: what must be evaluated again after a change of the cache.

pub mod adopted_bridges;
mod arbiters;
pub mod attachments;
pub mod bridge_rivals;
mod cluster;
pub mod dirty;
pub mod fingerprint;
pub mod nads;
mod node_numbers;
pub mod objects;
pub mod parse;
pub mod partial_objects;
mod reservation_changes;
pub mod reservations;

pub(crate) use arbiters::reserving;
pub use arbiters::{conflict, overlays, routing_domains, uplink_use};
pub use cluster::Cache;
pub use nads::{Nad, NadKey, NadSet};
pub use node_numbers::NodeNumbers;
pub use objects::{Compiled, Labels, Namespace, Network, Node, NodeSlice, NodeState, NodeStatus, Uplink};
pub use overlays::Overlays;
pub use uplink_use::UplinkUse;
