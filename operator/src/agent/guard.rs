//! Attachments that a pass acts on are locked first and read again: a DEL or ADD that runs at the same moment has the lock, and then the pass leaves
//! its attachment alone.

use std::collections::{BTreeMap, BTreeSet};
use usnet_dataplane::attachment::{AttachmentId, Record};
use usnet_dataplane::journal::{Error, Journal, LockedAttachment};
use usnet_dataplane::plan::Op;

/// Most attachments of one pass; the others wait for the next one. The kernel compares each new lock with those of the same file, so that 1,000 take
/// it 5 ms, but 4,096 take it 150 ms.
const ATTACHMENTS_MAX: usize = 4096;

/// The locks of one pass.
#[derive(Debug, Default)]
pub(super) struct Guard {
    locked: BTreeMap<String, LockedAttachment>,
    busy: BTreeSet<String>,
}

impl Guard {
    /// Locks these attachments, as far as nobody else works on them.
    ///
    /// # Errors
    /// When a lock cannot be tried.
    pub(super) fn take(journal: &Journal, attachments: &BTreeMap<String, AttachmentId>) -> Result<Self, Error> {
        let together = journal.try_lock_all(attachments.values().take(ATTACHMENTS_MAX))?;
        let left_over = attachments.keys().skip(ATTACHMENTS_MAX).cloned();
        Ok(Self {
            locked: together.locked.into_iter().map(|locked| (locked.id().to_string(), locked)).collect(),
            busy: together.busy.iter().map(ToString::to_string).chain(left_over).collect(),
        })
    }

    /// The attachments that somebody else works on, as marks name them.
    pub(super) fn busy(&self) -> &BTreeSet<String> {
        &self.busy
    }

    /// Whether attachments were left out that are worth another look soon.
    pub(super) fn is_incomplete(&self) -> bool {
        !self.busy.is_empty()
    }

    /// Replaces the records of the locked attachments by what they are now.
    ///
    /// # Errors
    /// When one cannot be read.
    pub(super) fn read_again(&self, records: &mut Vec<Record>) -> Result<(), Error> {
        records.retain(|record| !self.locked.contains_key(&record.id.to_string()));
        for locked in self.locked.values() {
            records.extend(locked.read()?);
        }
        Ok(())
    }

    /// Removes the record of an attachment, and says whether that was possible: only where it is locked.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn remove_record(&self, attachment: &str) -> Result<bool, Error> {
        self.locked.get(attachment).map_or(Ok(false), |locked| locked.remove().map(|()| true))
    }
}

/// The attachment that an operation changes, as marks name it.
pub(super) fn attachment_of(operation: &Op) -> Option<String> {
    match operation {
        Op::RemovePort { owner, .. } | Op::UpdatePort { owner, .. } => Some(owner.attachment.clone()),
        Op::CreatePort { attachment, .. } => Some(attachment.to_string()),
        Op::RemoveBridge { .. } | Op::CreateBridge { .. } | Op::UpdateBridge { .. } => None,
    }
}

/// The attachment that a mark names. Both of its parts may have dots, so that a text can be read in more than one way; all of them have the same record
/// and the same lock. None when no attachment can have that name, and so no record.
pub(super) fn parse_mark(text: &str) -> Option<AttachmentId> {
    text.match_indices('.').find_map(|(dot, _)| {
        let (container, interface) = (text.get(..dot)?, text.get(dot + 1..)?);
        Some(AttachmentId { container: container.parse().ok()?, interface: interface.parse().ok()? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_with_dots_keep_their_lock() {
        for text in ["c1.net1", "c1.eth0.100", "a.b.c.d"] {
            assert_eq!(parse_mark(text).unwrap().to_string(), text);
        }
        for text in ["", "c1", ".net1", "c1.", "c1.a/b"] {
            assert_eq!(parse_mark(text), None, "{text}");
        }
    }
}
