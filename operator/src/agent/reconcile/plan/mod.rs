//! Step two of a reconcile: the operations, and the attachments that they change. Pure; the
//! comparison itself is in [`usnet_dataplane::plan`].

use std::collections::BTreeSet;
use usnet_dataplane::attachment::{AttachmentId, Progress, Record};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::plan::{Op, PlanContext, PlannedOp, diff, plan};

/// The journal as it was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JournalView<'a> {
    /// The records that could be read.
    pub records: &'a [Record],
    /// Whether those are all. If not, a port without a record may well belong to a pod.
    pub complete: bool,
}

/// The operations that turn `observed` into `desired`, each with its cause, without removals that
/// an unreadable record could forbid.
pub(crate) fn planned(
    desired: &Desired,
    observed: &Observed,
    journal: JournalView<'_>,
    context: &PlanContext,
) -> Vec<PlannedOp> {
    let is_allowed = removal_filter(journal);
    let mut planned = plan(desired, observed, context);
    planned.retain(|planned| is_allowed(&planned.op));
    planned
}

/// The operations that remain to be done, under the same condition.
pub(crate) fn remaining(desired: &Desired, observed: &Observed, journal: JournalView<'_>) -> Vec<Op> {
    let is_allowed = removal_filter(journal);
    let mut operations = diff(desired, observed);
    operations.retain(is_allowed);
    operations
}

fn removal_filter(journal: JournalView<'_>) -> impl Fn(&Op) -> bool {
    let recorded: BTreeSet<&AttachmentId> = journal.records.iter().map(|record| &record.id).collect();
    move |operation| match operation {
        _ if journal.complete => true,
        Op::RemovePort { owner, .. } => owner.attachment().is_some_and(|id| recorded.contains(id)),
        Op::RemoveBridge { .. } => false,
        _ => true,
    }
}

/// The attachments to lock before these operations are carried out: those that they change, and
/// those whose DEL left only the port behind.
pub(crate) fn attachments_to_lock(planned: &[PlannedOp], records: &[Record]) -> BTreeSet<AttachmentId> {
    let changed = planned.iter().filter_map(|planned| planned.op.attachment());
    let detached = records.iter().filter(|record| record.progress == Progress::Detached);
    changed.chain(detached.map(|record| &record.id)).cloned().collect()
}

/// Without operations on attachments that are locked by another process, and without the removal of
/// bridges that such a port may still be on.
pub(crate) fn without_contended(mut planned: Vec<PlannedOp>, contended: &BTreeSet<AttachmentId>) -> Vec<PlannedOp> {
    let is_contended = |operation: &Op| operation.attachment().is_some_and(|id| contended.contains(id));
    let kept_bridges: BTreeSet<String> = planned
        .iter()
        .filter(|planned| is_contended(&planned.op))
        .filter_map(|planned| match &planned.op {
            Op::RemovePort { bridge, .. } => bridge.clone(),
            _ => None,
        })
        .collect();
    planned.retain(|planned| match &planned.op {
        Op::RemoveBridge { bridge, .. } => !kept_bridges.contains(bridge),
        other => !is_contended(other),
    });
    planned
}

#[cfg(test)]
mod tests;
