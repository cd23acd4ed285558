//! The diff of observed and desired VXLAN devices: a list of operations. No IO.

use super::blocker::{LinkBlocker, blocker};
use super::model::{DesiredVxlan, LinkOwner, ObservedLinks, ObservedVxlan};
use super::operation::LinkOp;
use crate::plan::{Cause, PlanContext};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use usnet_crds::{EngineKind, NetworkName};

/// An operation, and why it is planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedLinkOp {
    /// The operation.
    pub op: LinkOp,
    /// Why it is planned.
    pub cause: Cause,
}

impl fmt::Display for PlannedLinkOp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.op, self.cause)
    }
}

/// The operations of [`diff`], each with its cause.
pub fn plan(
    engine: EngineKind,
    desired: &BTreeMap<NetworkName, DesiredVxlan>,
    observed: &ObservedLinks,
    context: &PlanContext,
) -> Vec<PlannedLinkOp> {
    let planned = |op: LinkOp| PlannedLinkOp { cause: context.cause_for(op.network()), op };
    diff(engine, desired, observed).into_iter().map(planned).collect()
}

/// The operations on the devices of one engine that turn `observed` into `desired`. Empty if there
/// is no difference, and where a [`LinkBlocker`] leaves nothing to do.
///
/// Deletions come last: a device is a port of the engine until the engine is told otherwise. A
/// device that has to be replaced is only deleted; the next plan creates the new one.
pub fn diff(
    engine: EngineKind,
    desired: &BTreeMap<NetworkName, DesiredVxlan>,
    observed: &ObservedLinks,
) -> Vec<LinkOp> {
    if !observed.may_change {
        return Vec::new();
    }
    let (mut operations, mut deletions, mut used) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (network, device) in desired {
        let owner = LinkOwner::new(engine, network);
        let Some((index, found)) = observed.device_of(&owner) else {
            operations.extend(creation(owner, device, observed));
            continue;
        };
        used.insert(index);
        if found.connects(device, observed.underlays.get(&device.local)) {
            operations.extend(updates(owner, index, (found, device), observed));
        } else {
            deletions.push(LinkOp::Delete { owner, index, device: found.name.clone() });
        }
    }
    let unused = observed.vxlans.iter().filter(|(index, _)| !used.contains(index));
    deletions.extend(unused.filter_map(|(index, found)| {
        let owner = found.owner().filter(|owner| owner.engine == engine)?;
        Some(LinkOp::Delete { owner, index: *index, device: found.name.clone() })
    }));
    operations.append(&mut deletions);
    operations
}

/// The devices that an engine can have as ports now, by their networks: they are owned, up, and
/// connect to what the network asks for.
pub fn joinable(
    engine: EngineKind,
    desired: &BTreeMap<NetworkName, DesiredVxlan>,
    observed: &ObservedLinks,
) -> BTreeMap<NetworkName, u32> {
    let of_network = |(network, device): (&NetworkName, &DesiredVxlan)| {
        let owner = LinkOwner::new(engine, network);
        let (index, found) = observed.device_of(&owner)?;
        let connects = found.connects(device, observed.underlays.get(&device.local));
        let is_complete = found.is_up && found.alias.is_some() && found.name == owner.device();
        (connects && is_complete).then(|| (network.clone(), index))
    };
    desired.iter().filter_map(of_network).collect()
}

fn creation(owner: LinkOwner, device: &DesiredVxlan, observed: &ObservedLinks) -> Option<LinkOp> {
    if blocker(&owner, device, observed).is_some() {
        return None;
    }
    let underlay = observed.underlays.get(&device.local)?.index;
    Some(LinkOp::Create { owner, underlay, device: device.clone() })
}

fn updates(
    owner: LinkOwner,
    index: u32,
    (found, device): (&ObservedVxlan, &DesiredVxlan),
    observed: &ObservedLinks,
) -> Vec<LinkOp> {
    let mut operations = Vec::new();
    if found.name != owner.device() {
        operations.push(LinkOp::Rename { owner: owner.clone(), index, from: found.name.clone() });
    }
    let blocker = blocker(&owner, device, observed);
    // The kernel accepts no MTU that does not fit into the underlay.
    let fits = !matches!(blocker, Some(LinkBlocker::MtuTooLarge { .. } | LinkBlocker::AddressMissing { .. }));
    let mtu = (fits && found.mtu != u32::from(device.mtu.get())).then_some(device.mtu);
    let can_go_up = !matches!(blocker, Some(LinkBlocker::PortTaken { .. }));
    if (can_go_up && !found.is_up) || mtu.is_some() || found.alias.is_none() || found.answers_arp {
        operations.push(LinkOp::Configure { owner: owner.clone(), index, mtu });
    }
    let add: BTreeSet<_> = device.peers.difference(&found.peers).copied().collect();
    let remove: BTreeSet<_> = found.peers.difference(&device.peers).copied().collect();
    if !add.is_empty() || !remove.is_empty() {
        operations.push(LinkOp::ChangePeers { owner, index, add, remove });
    }
    operations
}
