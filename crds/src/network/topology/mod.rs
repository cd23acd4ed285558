//! How the bridges of a network on different nodes are connected: what users write and its rules
//! in CEL and in Rust (`spec`, `overlay`, `underlay`), and the validated form.

mod overlay;
pub(super) mod spec;
mod underlay;
mod uplink_name;

pub use overlay::OverlaySpec;
pub use spec::{TopologySpec, TopologyType, UplinkSpec};
pub use underlay::{UnderlaySpec, UnderlayType, UnderlayUplinkSpec};

use crate::{CompiledOverlay, Encapsulation, IpFamily, NetworkUplink, UdpPort, UplinkName, Vni};
use std::net::IpAddr;

/// How the bridges of a network on different nodes are connected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Topology {
    /// The bridges are not connected.
    #[default]
    NodeLocal,
    /// A NIC of each node connects the bridges.
    Uplink(NetworkUplink),
    /// VXLAN between the nodes connects the bridges.
    Overlay(Overlay),
}

/// The VXLAN between the nodes of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    /// The id of the VXLAN network; none means that the controller chooses one.
    pub vni: Option<Vni>,
    /// The destination port of the encapsulated packets.
    pub port: UdpPort,
    /// The family of the addresses between which encapsulated packets are sent.
    pub ip_family: IpFamily,
    /// The uplink whose underlay has the addresses; none means that they are those of the nodes.
    pub underlay: Option<UplinkName>,
    /// Where broadcasts are sent instead of to each node.
    pub multicast_group: Option<IpAddr>,
}

impl Overlay {
    /// The compiled form, with the VNI that was chosen.
    pub fn compiled(&self, vni: Vni) -> CompiledOverlay {
        let Self { port, ip_family, underlay, multicast_group, .. } = self.clone();
        let encapsulation = self.encapsulation();
        CompiledOverlay { vni, port, ip_family, encapsulation, underlay, multicast_group }
    }

    /// An engine encapsulates on a NIC that it has.
    pub const fn encapsulation(&self) -> Encapsulation {
        match self.underlay {
            None => Encapsulation::Kernel,
            Some(_) => Encapsulation::Engine,
        }
    }
}

impl Topology {
    /// The uplink that the network needs on each node: the one that it is connected to, or that its
    /// engine sends encapsulated packets over.
    pub const fn uplink_name(&self) -> Option<&UplinkName> {
        match self {
            Self::NodeLocal => None,
            Self::Uplink(uplink) => Some(&uplink.name),
            Self::Overlay(overlay) => overlay.underlay.as_ref(),
        }
    }

    pub const fn overlay(&self) -> Option<&Overlay> {
        match self {
            Self::Overlay(overlay) => Some(overlay),
            Self::NodeLocal | Self::Uplink(_) => None,
        }
    }

    pub const fn uplink(&self) -> Option<&NetworkUplink> {
        match self {
            Self::Uplink(uplink) => Some(uplink),
            Self::NodeLocal | Self::Overlay(_) => None,
        }
    }
}
