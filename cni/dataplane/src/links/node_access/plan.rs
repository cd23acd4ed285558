//! The diff of the pairs that there are and those that there should be. No IO.

use super::model::{DesiredNodeAccess, NodeAccesses, ObservedNodeAccess, Route};
use crate::links::owner::LinkOwner;
use crate::links::pair::{ObservedEnd, PairEnd};
use crate::model::port::DeviceName;
use ipnet::IpNet;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use usnet_crds::{EngineKind, NetworkName};

/// One operation. It can be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeAccessOp {
    /// Creates what is missing of a pair, with its addresses, and sets it up.
    Ensure { owner: LinkOwner, access: DesiredNodeAccess },
    /// Deletes a pair by one of its ends.
    Delete { owner: LinkOwner, index: u32, device: DeviceName },
}

impl NodeAccessOp {
    pub const fn network(&self) -> &NetworkName {
        let (Self::Ensure { owner, .. } | Self::Delete { owner, .. }) = self;
        &owner.network
    }

    /// Whether it deletes a device, which must not be a port any more then.
    pub const fn is_deletion(&self) -> bool {
        matches!(self, Self::Delete { .. })
    }
}

impl fmt::Display for NodeAccessOp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network = self.network();
        match self {
            Self::Ensure { access, .. } => {
                let addresses: Vec<_> = access.addresses.iter().map(ToString::to_string).collect();
                let (device, addresses) = (DeviceName::of_node_end(network), addresses.join(" and "));
                write!(formatter, "give the node {addresses} in network {network}, on device {device}")
            }
            Self::Delete { device, .. } => write!(formatter, "delete device {device} of network {network}"),
        }
    }
}

/// What prevents the node from being in a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeAccessBlocker {
    /// This process may not change devices.
    MissingPrivilege,
    /// The node reaches a part of the subnet elsewhere, and would lose that.
    SubnetRouted { subnet: IpNet, route: Route },
    /// The node is in another network with an overlapping subnet.
    SubnetOfNetwork { subnet: IpNet, network: NetworkName },
}

/// The operations on the pairs of one engine's networks. A network that is blocked keeps what it
/// has.
pub fn diff(engine: EngineKind, desired: &NodeAccesses, observed: &ObservedNodeAccess) -> Vec<NodeAccessOp> {
    if !observed.may_change {
        return Vec::new();
    }
    let blockers = blockers(engine, desired, observed);
    let missing = of_engine(engine, desired).filter_map(|(network, access)| {
        let owner = LinkOwner::new(engine, network);
        let is_due = !blockers.contains_key(network) && observed.complete(&owner, access).is_none();
        is_due.then(|| NodeAccessOp::Ensure { owner, access: access.clone() })
    });
    let wanted: BTreeSet<_> = of_engine(engine, desired).map(|(network, _)| network).collect();
    let is_used = |found: &ObservedEnd| {
        wanted.contains(&found.owner.network) && found.name == found.end.device(&found.owner.network)
    };
    let goes_with_other = |found: &ObservedEnd| {
        let is_other = |other: &ObservedEnd| other.owner == found.owner && other.end == PairEnd::Access;
        found.end == PairEnd::Node && observed.ends.values().any(is_other)
    };
    let own = observed.ends.iter().filter(|(_, found)| found.owner.engine == engine);
    let unused = own.filter(|(_, found)| !is_used(found) && !goes_with_other(found));
    let deletion = |(index, found): (&u32, &ObservedEnd)| NodeAccessOp::Delete {
        owner: found.owner.clone(),
        index: *index,
        device: found.name.clone(),
    };
    missing.chain(unused.map(deletion)).collect()
}

/// The networks of an engine that the node cannot be in, and why. Of two networks with overlapping
/// subnets the node stays in the one that it is in, or is in the one that comes first by name.
pub fn blockers(
    engine: EngineKind,
    desired: &NodeAccesses,
    observed: &ObservedNodeAccess,
) -> BTreeMap<NetworkName, NodeAccessBlocker> {
    let blocked = |(network, access): (&NetworkName, &DesiredNodeAccess)| {
        Some((network.clone(), blocker(network, access, (desired, observed))?))
    };
    of_engine(engine, desired).filter_map(blocked).collect()
}

fn blocker(
    network: &NetworkName,
    access: &DesiredNodeAccess,
    (desired, observed): (&NodeAccesses, &ObservedNodeAccess),
) -> Option<NodeAccessBlocker> {
    if !observed.may_change {
        return Some(NodeAccessBlocker::MissingPrivilege);
    }
    let rank = |network: &NetworkName, access: &DesiredNodeAccess| {
        let owner = LinkOwner::new(access.engine, network);
        (observed.end_of(&owner, PairEnd::Node).is_none(), network.clone())
    };
    let own_rank = rank(network, access);
    let of_network = desired.iter().filter(|(name, other)| rank(name, other) < own_rank).find_map(|(name, other)| {
        let subnet = access.overlap(&other.subnets().collect::<Vec<_>>())?;
        Some(NodeAccessBlocker::SubnetOfNetwork { subnet, network: name.clone() })
    });
    of_network.or_else(|| {
        observed.routes.iter().find_map(|route| {
            let subnet = access.overlap(&[route.destination])?;
            Some(NodeAccessBlocker::SubnetRouted { subnet, route: route.clone() })
        })
    })
}

/// The ends that an engine can have as ports now, by their networks.
pub fn joinable(
    engine: EngineKind,
    desired: &NodeAccesses,
    observed: &ObservedNodeAccess,
) -> BTreeMap<NetworkName, u32> {
    let complete = |(network, access): (&NetworkName, &DesiredNodeAccess)| {
        Some((network.clone(), observed.complete(&LinkOwner::new(engine, network), access)?))
    };
    of_engine(engine, desired).filter_map(complete).collect()
}

fn of_engine(engine: EngineKind, desired: &NodeAccesses) -> impl Iterator<Item = (&NetworkName, &DesiredNodeAccess)> {
    desired.iter().filter(move |(_, access)| access.engine == engine)
}
