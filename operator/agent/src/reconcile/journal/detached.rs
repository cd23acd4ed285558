//! Removes the records of detached attachments (IO).

use super::attachment_locks::AttachmentLocks;
use super::snapshot::JournalSnapshot;
use std::collections::BTreeSet;
use usnet_dataplane::attachment::{AttachmentId, Progress};
use usnet_dataplane::journal;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::plan::Op;

/// Removes the record that a DEL left for its port, once the engine does not have the port any
/// more. A DEL that was interrupted earlier keeps its record, because only the next DEL can release
/// addresses and unmount.
pub(crate) fn finish_detached(
    observed: &Observed,
    remaining: &[Op],
    journal: &mut JournalSnapshot,
    locks: &AttachmentLocks,
) -> Result<(), journal::Error> {
    let ports =
        observed.bridges.values().flat_map(|bridge| bridge.ports.values()).chain(observed.unbridged_ports.values());
    let mut still_present: BTreeSet<&AttachmentId> =
        ports.filter_map(|port| port.owner.as_ref()?.attachment()).collect();
    // A port that has no ownership tag yet is known only to the plan.
    still_present.extend(remaining.iter().filter_map(Op::attachment));
    let mut finished = BTreeSet::new();
    for record in journal.records.iter().filter(|record| record.progress == Progress::Detached) {
        let attachment = &record.id;
        if !still_present.contains(attachment) && locks.remove_record(attachment)? {
            tracing::info!(network = %record.network, %attachment, pod = %record.pod, "detached");
            finished.insert(record.id.clone());
        }
    }
    journal.records.retain(|record| !finished.contains(&record.id));
    Ok(())
}
