//! Step two of a pass: which operations, and which attachments they touch. Pure; the comparison itself is [`usnet_dataplane::plan`].

use super::guard::{attachment_of, parse_mark};
use std::collections::{BTreeMap, BTreeSet};
use usnet_dataplane::attachment::{AttachmentId, Progress, Record};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::plan::{Op, plan};

/// The journal as it was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    /// The records that could be read.
    pub records: &'a [Record],
    /// Whether those are all. If not, a port without a record may well belong to a pod.
    pub complete: bool,
}

/// What has to be done so that `observed` becomes `desired`, without anything that an unreadable record could forbid.
pub(super) fn operations(desired: &Desired, observed: &Observed, known: Known<'_>) -> Vec<Op> {
    let mut operations = plan(desired, observed);
    if !known.complete {
        let recorded: BTreeSet<String> = known.records.iter().map(|record| record.id.to_string()).collect();
        operations.retain(|operation| match operation {
            Op::RemovePort { owner, .. } => recorded.contains(&owner.attachment),
            Op::RemoveBridge { .. } => false,
            _ => true,
        });
    }
    operations
}

/// The attachments to lock before these operations are carried out, as marks name them: those that they change, and those of which only the port was left.
pub(super) fn attachments_to_lock(operations: &[Op], records: &[Record]) -> BTreeMap<String, AttachmentId> {
    let changed = operations.iter().filter_map(attachment_of).filter_map(|mark| {
        let id = parse_mark(&mark)?;
        Some((mark, id))
    });
    let detached = records.iter().filter(|record| record.progress == Progress::Detached);
    changed.chain(detached.map(|record| (record.id.to_string(), record.id.clone()))).collect()
}

/// Without what touches attachments that somebody else works on, and without the removal of bridges that such a port may still be on.
pub(super) fn leave_alone(mut operations: Vec<Op>, busy: &BTreeSet<String>) -> Vec<Op> {
    let is_busy = |operation: &Op| attachment_of(operation).is_some_and(|attachment| busy.contains(&attachment));
    let kept_bridges: BTreeSet<String> = operations
        .iter()
        .filter(|operation| is_busy(operation))
        .filter_map(|operation| match operation {
            Op::RemovePort { bridge, .. } => bridge.clone(),
            _ => None,
        })
        .collect();
    operations.retain(|operation| match operation {
        Op::RemoveBridge { bridge, .. } => !kept_bridges.contains(bridge),
        other => !is_busy(other),
    });
    operations
}

#[cfg(test)]
mod tests;
