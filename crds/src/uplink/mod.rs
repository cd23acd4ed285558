//! `UserspaceUplink`: a NIC on each of its nodes, by which networks reach what is outside of the
//! nodes. A NIC is in one engine and serves many networks, each with a VLAN of its own.
//!
//! - [`spec`]: what users write, and its rules in CEL; [`mod@validate`]: the same rules in Rust,
//!   and the NIC of a node;
//! - [`nic`], [`device`], [`bond`], [`member`], [`driver`]: the NICs of an uplink, from what users
//!   write to what nodes read;
//! - [`underlay`]: the addresses of nodes on its NICs, between which engines encapsulate;
//! - [`node_uplink`]: the uplink as one node has it;
//! - [`report`]: what an agent reports of it, [`status`]: what the controller reports of all nodes.

pub mod bond;
pub mod device;
pub mod driver;
pub mod member;
pub mod nic;
mod node_uplink;
#[cfg(feature = "api")]
pub mod problem;
#[cfg(feature = "api")]
pub mod report;
#[cfg(feature = "api")]
pub mod spec;
#[cfg(feature = "api")]
pub mod status;
#[cfg(feature = "api")]
pub mod underlay;
#[cfg(feature = "api")]
pub mod validate;

pub use bond::{BondMode, LacpRate, NicBond};
pub use device::UplinkDevice;
pub use driver::{Binding, NicDriver, XdpMode};
pub use member::NicDevice;
pub use nic::Nic;
pub use node_uplink::{NetworkUplink, NodeTraffic, NodeUplink};
