//! The diff of observed and desired VXLAN devices: a list of operations. No IO.

use super::blocker::{LinkBlocker, blocker};
use super::model::{DesiredVxlan, ObservedLinks, ObservedVxlan};
use super::operation::LinkOp;
use super::owner::LinkOwner;
use super::pair::{ObservedEnd, PairEnd};
use crate::plan::{Cause, PlanContext};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use usnet_crds::{EngineKind, NetworkName};

/// An operation, and why it is planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedLinkOp {
    pub op: LinkOp,
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
    deletions.extend(unused_ends(engine, desired, observed));
    operations.append(&mut deletions);
    operations
}

/// Pairs of no network, by the end that the engine has: the other one goes with it. Also an end
/// that is left of a pair, and one that has another name: a pair with the right one is created.
fn unused_ends(
    engine: EngineKind,
    desired: &BTreeMap<NetworkName, DesiredVxlan>,
    observed: &ObservedLinks,
) -> impl Iterator<Item = LinkOp> {
    let is_used = |(index, found): &(&u32, &ObservedEnd)| {
        let named = observed.end_of(&found.owner, found.end);
        desired.contains_key(&found.owner.network) && named.is_some_and(|(named, _)| named == **index)
    };
    let goes_with_other = |found: &ObservedEnd| {
        let is_other = |other: &ObservedEnd| other.owner == found.owner && other.end == PairEnd::Engine;
        found.end == PairEnd::Vxlan && observed.ends.values().any(is_other)
    };
    let of_engine = observed.ends.iter().filter(move |(_, found)| found.owner.engine == engine);
    of_engine.filter(move |end| !is_used(end) && !goes_with_other(end.1)).map(|(index, found)| LinkOp::Delete {
        owner: found.owner.clone(),
        index: *index,
        device: found.name.clone(),
    })
}

/// The devices that an engine can have as ports now, by their networks: ends of pairs whose VXLAN
/// device is owned, up, and connects to what the network asks for.
pub fn joinable(
    engine: EngineKind,
    desired: &BTreeMap<NetworkName, DesiredVxlan>,
    observed: &ObservedLinks,
) -> BTreeMap<NetworkName, u32> {
    let of_network = |(network, device): (&NetworkName, &DesiredVxlan)| {
        let owner = LinkOwner::new(engine, network);
        let (_, found) = observed.device_of(&owner)?;
        let connects = found.connects(device, observed.underlays.get(&device.local));
        let is_complete = found.is_up && found.alias.is_some() && found.name == owner.device();
        let (index, _) = pair(&owner, observed, |end| end.is_up)?;
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
        operations.push(LinkOp::ChangePeers { owner: owner.clone(), index, add, remove });
    }
    if pair(&owner, observed, |end| end.passes(device.mtu.get().into())).is_none() {
        operations.push(LinkOp::Connect { owner, index, mtu: device.mtu });
    }
    operations
}

/// The end that the engine has of a pair both of whose ends are as they should be.
fn pair<'a>(
    owner: &LinkOwner,
    observed: &'a ObservedLinks,
    is_right: impl Fn(&ObservedEnd) -> bool,
) -> Option<(u32, &'a ObservedEnd)> {
    let end = |end: PairEnd| observed.end_of(owner, end).filter(|(_, found)| is_right(found));
    end(PairEnd::Vxlan).and_then(|_| end(PairEnd::Engine))
}
