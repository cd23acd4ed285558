//! Which packets are of overlays, and who may send them.

use crate::links::model::{DesiredVxlan, ObservedLinks};
use std::collections::BTreeSet;
use std::net::IpAddr;
use usnet_crds::NodeNetwork;

/// What tells the packets of an overlay from others on the same UDP port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OverlayKey {
    pub port: u16,
    pub vni: u32,
}

/// The overlays of a node with VXLAN devices of the kernel, of all engines.
///
/// The peers of all overlays are one set: a node that is a peer of one of them could only harm
/// another one by a program of its own, and such a program is in all networks of its node anyway.
/// So the memory grows with nodes and overlays, and not with their product.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OverlayFilter {
    /// All overlays: those whose peers are known, and those with a multicast group.
    pub overlays: BTreeSet<OverlayKey>,
    /// The overlays with a multicast group.
    pub groups: BTreeSet<OverlayKey>,
    /// The addresses of other nodes.
    pub peers: BTreeSet<IpAddr>,
    /// The subnets in which nodes of multicast groups are: all of them are in one Ethernet segment.
    pub segments: BTreeSet<(IpAddr, u8)>,
}

impl OverlayFilter {
    /// What these networks need, and what devices need that are still there: one that has to go
    /// stays closed, and a peer that has to go may send until it is no peer any more.
    pub fn new<'a>(networks: impl IntoIterator<Item = &'a NodeNetwork>, observed: &ObservedLinks) -> Self {
        let mut filter = Self::default();
        for device in networks.into_iter().filter_map(DesiredVxlan::of) {
            filter.add(OverlayKey { port: device.port, vni: device.vni }, device.group.is_some());
            match device.group {
                Some(_) => filter.segments.extend(segment(device.local, observed)),
                None => filter.peers.extend(device.peers.iter()),
            }
        }
        for device in observed.vxlans.values().filter(|device| device.owner().is_some()) {
            filter.add(OverlayKey { port: device.port, vni: device.vni }, device.group.is_some());
            match device.group {
                Some(_) => filter.segments.extend(device.local.and_then(|local| segment(local, observed))),
                None => filter.peers.extend(&device.peers),
            }
        }
        filter
    }

    fn add(&mut self, key: OverlayKey, is_group: bool) {
        self.overlays.insert(key);
        if is_group {
            self.groups.insert(key);
        }
    }

    /// Whether there is nothing to protect.
    pub fn is_empty(&self) -> bool {
        self.overlays.is_empty()
    }
}

/// The subnet of an address of the node.
fn segment(local: IpAddr, observed: &ObservedLinks) -> Option<(IpAddr, u8)> {
    Some((local, observed.underlays.get(&local)?.prefix))
}
