//! How the bridges of a network on different nodes are connected: what users write and its rules
//! in CEL and in Rust (`spec`), and the validated form.

pub(super) mod spec;

pub use spec::{Encapsulation, OverlaySpec, TopologySpec, TopologyType};

use crate::{UdpPort, Vni};

/// How the bridges of a network on different nodes are connected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Topology {
    /// Not at all.
    #[default]
    NodeLocal,
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
}

impl Topology {
    /// The overlay, if it is one.
    pub const fn overlay(&self) -> Option<&Overlay> {
        match self {
            Self::NodeLocal => None,
            Self::Overlay(overlay) => Some(overlay),
        }
    }
}
