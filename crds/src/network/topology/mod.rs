//! How the bridges of a network on different nodes are connected: what users write and its rules
//! in CEL and in Rust (`spec`, `overlay`), and the validated form.

mod overlay;
pub(super) mod spec;

pub use overlay::{Encapsulation, OverlaySpec};
pub use spec::{TopologySpec, TopologyType, UplinkSpec};

use crate::{IpFamily, NetworkUplink, UdpPort, Vni};
use std::net::IpAddr;

/// How the bridges of a network on different nodes are connected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Topology {
    /// Not at all.
    #[default]
    NodeLocal,
    /// By a NIC of each node.
    Uplink(NetworkUplink),
    /// By VXLAN between the nodes.
    Overlay(Overlay),
}

/// The VXLAN between the nodes of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlay {
    /// The id of the VXLAN network; none means that the controller chooses one.
    pub vni: Option<Vni>,
    /// The destination port of the encapsulated packets.
    pub port: UdpPort,
    /// The family of the addresses between which they are sent.
    pub ip_family: IpFamily,
    /// Where broadcasts are sent instead of to each node.
    pub multicast_group: Option<IpAddr>,
}

impl Topology {
    /// The overlay, if it is one.
    pub const fn overlay(&self) -> Option<&Overlay> {
        match self {
            Self::Overlay(overlay) => Some(overlay),
            Self::NodeLocal | Self::Uplink(_) => None,
        }
    }

    /// The uplink, if it has one.
    pub const fn uplink(&self) -> Option<&NetworkUplink> {
        match self {
            Self::Uplink(uplink) => Some(uplink),
            Self::NodeLocal | Self::Overlay(_) => None,
        }
    }
}
