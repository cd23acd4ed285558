//! The veth pairs by which an engine has a VXLAN device, or the node itself.
//!
//! Where a NIC merges packets (generic receive offload), those inside of VXLAN are merged as well,
//! and a packet socket of the VXLAN device gets frames beyond the MTU, which engines drop. So the
//! engine has one end of a veth pair instead. All frames that the VXLAN device receives are
//! forwarded to the other end, whose offloads for sending are off: the kernel takes merged packets
//! apart and completes checksums. What the engine sends arrives at that end, and is forwarded to
//! the VXLAN device. The NIC may merge what it wants. See docs/decisions.

use super::owner::{ForeignAlias, LinkOwner};
use crate::model::owner::NetworkDeviceRole;
use crate::model::port::DeviceName;
use std::str::FromStr;
use usnet_crds::NetworkName;

/// What a pair is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pair {
    Overlay,
    NodeAccess,
}

impl Pair {
    /// Both ends; the second is a port of the engine.
    pub(super) const fn ends(self) -> [PairEnd; 2] {
        match self {
            Self::Overlay => [PairEnd::Vxlan, PairEnd::Engine],
            Self::NodeAccess => [PairEnd::Node, PairEnd::Access],
        }
    }
}

/// One end of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PairEnd {
    /// The end that exchanges frames with the VXLAN device.
    Vxlan,
    /// The end of that pair that is a port of the engine.
    Engine,
    /// The end that has the node's addresses in the network.
    Node,
    /// The end of that pair that is a port of the engine.
    Access,
}

impl PairEnd {
    pub(super) const ALL: [Self; 4] = [Self::Vxlan, Self::Engine, Self::Node, Self::Access];

    pub(super) const fn pair(self) -> Pair {
        match self {
            Self::Vxlan | Self::Engine => Pair::Overlay,
            Self::Node | Self::Access => Pair::NodeAccess,
        }
    }

    /// The name of the device.
    pub(super) fn device(self, network: &NetworkName) -> DeviceName {
        match self {
            Self::Vxlan => DeviceName::of_vxlan_end(network),
            Self::Engine => DeviceName::of_network(network),
            Self::Node => DeviceName::of_node_end(network),
            Self::Access => DeviceName::of_role(network, NetworkDeviceRole::NodeAccess),
        }
    }

    /// The alias of the end: that of the VXLAN device and a word. Earlier versions take it for a
    /// device of others.
    pub(super) fn alias(self, owner: &LinkOwner) -> String {
        format!("{owner} {}", self.word())
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Vxlan => "vxlan-end",
            Self::Engine => "engine-end",
            Self::Node => "node-end",
            Self::Access => "access-end",
        }
    }
}

/// What an alias says that an end belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EndOwner {
    pub(super) owner: LinkOwner,
    pub(super) end: PairEnd,
}

impl FromStr for EndOwner {
    type Err = ForeignAlias;

    fn from_str(alias: &str) -> Result<Self, ForeignAlias> {
        let (owner, word) = alias.rsplit_once(' ').ok_or(ForeignAlias)?;
        let end = PairEnd::ALL.into_iter().find(|end| end.word() == word).ok_or(ForeignAlias)?;
        Ok(Self { owner: owner.parse()?, end })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedEnd {
    pub owner: LinkOwner,
    pub end: PairEnd,
    pub name: DeviceName,
    pub mtu: u32,
    pub is_up: bool,
    /// Whether the other end gets frames of at most the MTU, with checksums. Of no interest at the
    /// end that the engine has of an overlay.
    pub splits_packets: bool,
    /// Whether the node keeps to itself what is not of the network: see
    /// [`settings`](crate::isolation::settings). Of interest at the node's end alone.
    pub is_strict: bool,
}

impl ObservedEnd {
    /// Whether frames of the network pass.
    pub(super) fn passes(&self, mtu: u32) -> bool {
        self.is_up && self.mtu == mtu && (self.splits_packets || self.end == PairEnd::Engine)
    }
}
