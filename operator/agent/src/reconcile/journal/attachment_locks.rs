//! Locks the attachments that a reconcile changes, before their records are read again. An
//! attachment whose lock is held by a concurrent ADD or DEL is skipped: without the lock, the agent
//! could recreate a port that the DEL has just deleted.

use super::snapshot::JournalSnapshot;
use std::collections::{BTreeMap, BTreeSet};
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::journal::{Error, Journal, LockedAttachment};

/// The maximum number of attachments in one reconcile; the others wait for the next one. The kernel
/// compares each new lock with the existing ones of the same file, so that 1,000 locks take 5 ms,
/// but 4,096 take 150 ms.
const ATTACHMENTS_MAX: usize = 4096;

/// The locks of one reconcile.
#[derive(Debug, Default)]
pub(crate) struct AttachmentLocks {
    locked: BTreeMap<AttachmentId, LockedAttachment>,
    contended: BTreeSet<AttachmentId>,
}

impl AttachmentLocks {
    /// Locks these attachments, except those that are locked by another process.
    pub(crate) fn acquire(journal: &Journal, attachments: &BTreeSet<AttachmentId>) -> Result<Self, Error> {
        let together = journal.try_lock_all(attachments.iter().take(ATTACHMENTS_MAX))?;
        let left_over = attachments.iter().skip(ATTACHMENTS_MAX).cloned();
        Ok(Self {
            locked: together.locked.into_iter().map(|locked| (locked.id().clone(), locked)).collect(),
            contended: together.busy.into_iter().chain(left_over).collect(),
        })
    }

    /// The attachments that are locked by another process.
    pub(crate) fn contended(&self) -> &BTreeSet<AttachmentId> {
        &self.contended
    }

    /// Whether attachments were skipped, so that a retry is needed.
    pub(crate) fn has_contended(&self) -> bool {
        !self.contended.is_empty()
    }

    /// Replaces the records of the locked attachments with their current content.
    pub(crate) fn reread(&self, journal: &mut JournalSnapshot) {
        journal.records.retain(|record| !self.locked.contains_key(&record.id));
        for (id, locked) in &self.locked {
            match locked.read() {
                Ok(record) => journal.records.extend(record),
                Err(_) => drop(journal.unreadable.insert(id.clone())),
            }
        }
    }

    /// Removes the record of an attachment if its lock is held; returns whether it is.
    pub(crate) fn remove_record(&self, attachment: &AttachmentId) -> Result<bool, Error> {
        self.locked.get(attachment).map_or(Ok(false), |locked| locked.remove().map(|()| true))
    }
}
