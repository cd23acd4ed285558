//! The CNI plugin `userspace`: attaches one interface of a pod to a network of its node, and
//! detaches it.
//!
//! It reads the files that the agent publishes for each network, adds one port to the engine, and
//! records each step before it is executed. It never creates a bridge and has no client of the API
//! server. [`call`] is one call of the plugin; [`add`], [`del`], [`check`], [`gc`] and [`status`]
//! are its verbs, [`attach`] and [`detach`] the steps of the first two. [`multi_network`] handles
//! several networks in one call.

pub mod add;
pub mod admission;
pub mod attach;
pub mod call;
pub mod check;
pub mod cni;
pub mod del;
pub mod description;
pub mod detach;
pub mod device_allocation;
pub mod device_info;
pub mod engine;
pub mod error;
pub mod gc;
pub mod input;
pub mod interface;
pub mod ipam;
pub mod legacy;
pub mod mac;
pub mod multi_network;
pub mod node;
pub mod pod_directory;
pub mod port;
pub mod requested;
pub mod static_ips;
pub mod status;
