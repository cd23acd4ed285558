//! Step three of a reconcile: plans the operations, and determines the attachments that they
//! change. Pure, except for [`locked`]; the comparison itself is in [`usnet_dataplane::plan`].

mod locked;

pub(crate) use locked::DesiredState;

use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::NetworkName;
use usnet_dataplane::attachment::{AttachmentId, Progress, Record};
use usnet_dataplane::bridge::BridgeOwner;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::plan::{Op, PlanContext, PlannedOp, diff, plan};
use usnet_dataplane::port::PortPolicy;

/// Returns the operations that turn `observed` into `desired`, each with its cause. Ports of
/// attachments whose records are `unreadable` are not changed: they may belong to running pods.
pub(crate) fn planned(
    desired: &Desired,
    observed: &Observed,
    unreadable: &BTreeSet<AttachmentId>,
    context: &PlanContext,
) -> Vec<PlannedOp> {
    without(plan(desired, observed, context), unreadable, |planned| &planned.op)
}

/// Returns the operations that remain to be done, under the same condition as [`planned`].
pub(crate) fn remaining(desired: &Desired, observed: &Observed, unreadable: &BTreeSet<AttachmentId>) -> Vec<Op> {
    without(diff(desired, observed), unreadable, |op| op)
}

/// Returns the bridges that are kept only because of `unreadable` records, by their network.
/// `remaining` is the result of [`remaining`].
pub(crate) fn kept_bridges(
    desired: &Desired,
    observed: &Observed,
    unreadable: &BTreeSet<AttachmentId>,
    remaining: &[Op],
) -> BTreeMap<NetworkName, String> {
    if unreadable.is_empty() {
        return BTreeMap::new();
    }
    let unwanted = diff(desired, observed).into_iter().filter(|operation| !remaining.contains(operation));
    let kept = unwanted.filter_map(|operation| match operation {
        Op::RemoveBridge { bridge, owner: BridgeOwner::Network(network) } => Some((network, bridge)),
        _ => None,
    });
    kept.collect()
}

/// Returns the attachments whose port is complete while these operations remain to be done.
pub(crate) fn with_port(desired: &Desired, remaining: &[Op]) -> BTreeSet<AttachmentId> {
    let missing: BTreeSet<&AttachmentId> = remaining.iter().filter_map(Op::attachment).collect();
    let complete = desired.attachments().filter(|(_, port)| port.policy == PortPolicy::Ensure);
    complete.map(|(id, _)| id).filter(|id| !missing.contains(id)).cloned().collect()
}

/// Returns the attachments to lock before these operations are carried out: those that they change,
/// and those whose DEL left only the port.
pub(crate) fn attachments_to_lock(planned: &[PlannedOp], records: &[Record]) -> BTreeSet<AttachmentId> {
    let changed = planned.iter().filter_map(|planned| planned.op.attachment());
    let detached = records.iter().filter(|record| record.progress == Progress::Detached);
    changed.chain(detached.map(|record| &record.id)).cloned().collect()
}

/// Drops operations on attachments that are locked by another process.
pub(crate) fn without_contended(planned: Vec<PlannedOp>, contended: &BTreeSet<AttachmentId>) -> Vec<PlannedOp> {
    without(planned, contended, |planned| &planned.op)
}

/// Drops operations on these attachments, and the removal of bridges that still have a port of
/// them.
fn without<T>(mut operations: Vec<T>, attachments: &BTreeSet<AttachmentId>, op: impl Fn(&T) -> &Op) -> Vec<T> {
    let is_excluded = |op: &Op| op.attachment().is_some_and(|id| attachments.contains(id));
    let kept_bridges: BTreeSet<String> = operations
        .iter()
        .map(&op)
        .filter(|op| is_excluded(op))
        .filter_map(|op| match op {
            Op::RemovePort { bridge, .. } => bridge.clone(),
            _ => None,
        })
        .collect();
    operations.retain(|operation| match op(operation) {
        Op::RemoveBridge { bridge, .. } => !kept_bridges.contains(bridge),
        other => !is_excluded(other),
    });
    operations
}

#[cfg(test)]
mod tests;
