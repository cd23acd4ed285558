//! `UserspaceUplink`: a NIC on each of its nodes, by which networks reach what is outside of the
//! nodes. A NIC is in one engine and serves many networks, each with a VLAN of its own.

mod node_uplink;
#[cfg(feature = "api")]
pub mod report;

pub use node_uplink::{Bond, BondMode, NetworkUplink, Nic, NicDevice, NicDriver, NodeTraffic, NodeUplink};
