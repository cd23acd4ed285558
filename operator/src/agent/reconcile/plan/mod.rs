//! Step two of a reconcile: the operations, and the attachments that they change. Pure; the
//! comparison itself is in [`usnet_dataplane::plan`].

use std::collections::BTreeSet;
use usnet_dataplane::attachment::{AttachmentId, Progress, Record};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::plan::{Op, plan};

/// The journal as it was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JournalView<'a> {
    /// The records that could be read.
    pub records: &'a [Record],
    /// Whether those are all. If not, a port without a record may well belong to a pod.
    pub complete: bool,
}

/// The operations that turn `observed` into `desired`, without removals that an unreadable record
/// could forbid.
pub(crate) fn operations(desired: &Desired, observed: &Observed, journal: JournalView<'_>) -> Vec<Op> {
    let mut operations = plan(desired, observed);
    if !journal.complete {
        let recorded: BTreeSet<&AttachmentId> = journal.records.iter().map(|record| &record.id).collect();
        operations.retain(|operation| match operation {
            Op::RemovePort { owner, .. } => owner.attachment().is_some_and(|id| recorded.contains(id)),
            Op::RemoveBridge { .. } => false,
            _ => true,
        });
    }
    operations
}

/// The attachments to lock before these operations are carried out: those that they change, and
/// those whose DEL left only the port behind.
pub(crate) fn attachments_to_lock(operations: &[Op], records: &[Record]) -> BTreeSet<AttachmentId> {
    let changed = operations.iter().filter_map(Op::attachment);
    let detached = records.iter().filter(|record| record.progress == Progress::Detached);
    changed.chain(detached.map(|record| &record.id)).cloned().collect()
}

/// Without operations on attachments that are locked by another process, and without the removal of
/// bridges that such a port may still be on.
pub(crate) fn without_contended(mut operations: Vec<Op>, contended: &BTreeSet<AttachmentId>) -> Vec<Op> {
    let is_contended = |operation: &Op| operation.attachment().is_some_and(|id| contended.contains(id));
    let kept_bridges: BTreeSet<String> = operations
        .iter()
        .filter(|operation| is_contended(operation))
        .filter_map(|operation| match operation {
            Op::RemovePort { bridge, .. } => bridge.clone(),
            _ => None,
        })
        .collect();
    operations.retain(|operation| match operation {
        Op::RemoveBridge { bridge, .. } => !kept_bridges.contains(bridge),
        other => !is_contended(other),
    });
    operations
}

#[cfg(test)]
mod tests;
