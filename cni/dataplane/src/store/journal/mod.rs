//! The journal of attachments: one record for each, on disk before the first change of an engine
//! and deleted last.
//!
//! Both the plugin and the agent write here, serialised by a lock for each attachment. A killed
//! process releases its locks, and leaves a record as it was either before or after a write.
//!
//! Only files whose names are those of records count; whatever else is in the folder is ignored. A
//! record that cannot be read concerns its own attachment alone. An [`Index`] finds records by
//! their contents.

use crate::model::attachment::{AttachmentId, Record};
use crate::store::atomic_file;
use crate::store::locks::{self, Lock};
use crate::store::paths::NodePaths;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

mod index;
mod record_file;

use index::Index;
pub use index::Key;
use record_file::Content;
pub use record_file::PendingSync;

#[cfg(test)]
mod tests;

/// How long to wait for an attachment that is locked by another process.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

const LOCK_FILE: &str = ".lock";

/// Why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of the journal cannot be used.
    #[error(transparent)]
    File(#[from] atomic_file::Error),
    /// Another process works on the attachment.
    #[error(
        "attachment {0} has been locked by another process for more than {seconds} s; try again",
        seconds = LOCK_TIMEOUT.as_secs()
    )]
    Busy(AttachmentId),
    /// The record would not be read again.
    #[error(
        "the record of attachment {id} would have {size} bytes and may have {max_size}: make the IPAM configuration of its network shorter"
    )]
    RecordTooLarge {
        id: AttachmentId,
        /// The size of the file in bytes.
        size: u64,
        max_size: u64,
    },
}

/// The attachment records of a node.
#[derive(Debug, Clone)]
pub struct Journal {
    folder: PathBuf,
    index: Index,
}

/// An attachment that is locked by this process. Dropping it releases the lock; the locks of
/// several attachments that were locked together are released with the last of them.
#[derive(Debug)]
pub struct LockedAttachment {
    id: AttachmentId,
    path: PathBuf,
    index: Index,
    /// What the file has since this holder of the lock has read or written it: no other one changes
    /// it meanwhile. None after a failure.
    known: Mutex<Option<Content>>,
    lock: Arc<Lock>,
}

/// Which of several attachments could be locked.
#[derive(Debug, Default)]
pub struct LockedAttachments {
    /// The attachments that are locked now.
    pub locked: Vec<LockedAttachment>,
    /// The attachments that are locked by other processes.
    pub busy: Vec<AttachmentId>,
}

#[derive(Debug, Default)]
pub struct Records {
    /// The records that this release can read.
    pub records: Vec<Record>,
    /// The records that it cannot read.
    pub unreadable: Vec<UnreadableRecord>,
}

/// A record that cannot be read. Nothing is known of its attachment but its name, so nothing that
/// may belong to it is removed.
#[derive(Debug)]
pub struct UnreadableRecord {
    pub id: AttachmentId,
    /// Why it cannot be read.
    pub error: atomic_file::Error,
}

impl From<UnreadableRecord> for Error {
    fn from(unreadable: UnreadableRecord) -> Self {
        Self::File(unreadable.error)
    }
}

impl Journal {
    /// Opens the journal of a node. Its directory is created if missing, accessible to root only.
    pub fn open(paths: &NodePaths) -> Result<Self, Error> {
        let journal = Self::at(paths);
        journal.create_folder()?;
        Ok(journal)
    }

    /// The journal of a node. Its directory is created with the first lock, so that a call on a
    /// node that has it does nothing for it.
    pub fn at(paths: &NodePaths) -> Self {
        Self { folder: paths.attachments(), index: Index::new(paths.index()) }
    }

    fn create_folder(&self) -> Result<(), Error> {
        Ok(atomic_file::create_folder(&self.folder, 0o700)?)
    }

    /// Whether a record could be written now.
    ///
    /// # Errors
    /// When the disk is full or read-only.
    pub fn check_writable(&self) -> Result<(), Error> {
        self.create_folder()?;
        Ok(atomic_file::check_writable(&self.folder)?)
    }

    /// Locks an attachment, waiting up to [`LOCK_TIMEOUT`].
    ///
    /// # Errors
    /// [`Error::Busy`] if it is still locked by another process.
    pub fn lock(&self, id: &AttachmentId) -> Result<LockedAttachment, Error> {
        self.lock_within(id, LOCK_TIMEOUT)
    }

    /// Locks those of these attachments that are not locked by other processes. One open file is
    /// enough for all of them.
    ///
    /// # Errors
    /// A lock cannot be tried.
    pub fn try_lock_all<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a AttachmentId>,
    ) -> Result<LockedAttachments, Error> {
        let lock = Arc::new(self.open_locks()?);
        let mut all = LockedAttachments::default();
        for id in ids {
            if lock.try_add(lock_offset(id))? {
                all.locked.push(self.locked(id, Arc::clone(&lock)));
            } else {
                all.busy.push(id.clone());
            }
        }
        Ok(all)
    }

    fn lock_within(&self, id: &AttachmentId, timeout: Duration) -> Result<LockedAttachment, Error> {
        let lock = self.open_locks()?.add(&[lock_offset(id)], timeout)?;
        let lock = lock.ok_or_else(|| Error::Busy(id.clone()))?;
        Ok(self.locked(id, Arc::new(lock)))
    }

    fn open_locks(&self) -> Result<Lock, Error> {
        match Lock::open(&self.lock_file()) {
            Err(error) if error.is_not_found() => {
                self.create_folder()?;
                Ok(Lock::open(&self.lock_file())?)
            }
            opened => Ok(opened?),
        }
    }

    fn locked(&self, id: &AttachmentId, lock: Arc<Lock>) -> LockedAttachment {
        let (path, index) = (self.path(id), self.index.clone());
        LockedAttachment { id: id.clone(), path, index, known: Mutex::default(), lock }
    }

    fn path(&self, id: &AttachmentId) -> PathBuf {
        self.folder.join(record_file::file_name(id))
    }

    fn lock_file(&self) -> PathBuf {
        self.folder.join(LOCK_FILE)
    }

    /// The record of an attachment, read without a lock, like [`Journal::records`].
    pub fn read(&self, id: &AttachmentId) -> Result<Option<Record>, Error> {
        Ok(record_file::read(&self.path(id))?)
    }

    /// All records, each as it was at some moment of this call. They are read without locks: lock
    /// an attachment and read its record again before acting on it.
    pub fn records(&self) -> Result<Records, Error> {
        let names = atomic_file::names(&self.folder)?;
        Ok(self.read_all(names.iter().filter_map(|name| record_file::attachment_of(name))))
    }

    /// The records with this key, like [`Journal::records`]. No others are read.
    pub fn find(&self, key: Key<'_>) -> Result<Records, Error> {
        self.find_of(key, |_| true)
    }

    /// The records with this key but for that of one attachment, which is not read.
    pub fn find_others(&self, key: Key<'_>, id: &AttachmentId) -> Result<Records, Error> {
        self.find_of(key, |found| found != id)
    }

    fn find_of(&self, key: Key<'_>, is_wanted: impl Fn(&AttachmentId) -> bool) -> Result<Records, Error> {
        let mut found = self.read_all(self.index.find(key)?.into_iter().filter(|id| is_wanted(id)));
        found.records.retain(|record| Key::all(record).contains(&key));
        Ok(found)
    }

    /// Adds what is missing in the index and removes what has no record any more: after a loss of
    /// power, or when records were moved by hand.
    ///
    /// # Errors
    /// A folder cannot be listed, or the index cannot be changed.
    pub fn repair_index(&self) -> Result<(), Error> {
        let names = atomic_file::names(&self.folder)?;
        let mut entries = self.index.entries()?;
        for id in names.iter().filter_map(|name| record_file::attachment_of(name)) {
            entries.entry(id).or_default();
        }
        for (id, entries) in entries {
            // A call that works on the attachment keeps its keys up to date.
            let Some(locked) = self.try_lock_all([&id])?.locked.pop() else { continue };
            // If it cannot be read, its keys are unknown.
            if let Ok(record) = locked.read() {
                self.index.repair(&entries, record.as_ref())?;
            }
        }
        Ok(())
    }

    fn read_all(&self, ids: impl IntoIterator<Item = AttachmentId>) -> Records {
        let mut all = Records::default();
        for id in ids {
            match record_file::read(&self.path(&id)) {
                Ok(Some(record)) => all.records.push(record),
                // Deleted while the others were read.
                Ok(None) => {}
                Err(error) => all.unreadable.push(UnreadableRecord { id, error }),
            }
        }
        all
    }
}

impl LockedAttachment {
    pub fn id(&self) -> &AttachmentId {
        &self.id
    }

    /// The record, if there is one.
    ///
    /// # Errors
    /// When there is one that cannot be read or is of a later release.
    pub fn read(&self) -> Result<Option<Record>, Error> {
        self.set_known(None);
        let (content, record) = Content::read(&self.path)?;
        self.set_known(Some(content));
        Ok(record)
    }

    /// Creates or replaces the record. It outlives this process at once, and a loss of power only
    /// after [`start_sync`](Self::start_sync).
    ///
    /// # Errors
    /// An I/O error, or `record` is of another attachment than the locked one.
    pub fn write(&self, record: &Record) -> Result<(), Error> {
        let before = match self.set_known(None) {
            Some(known) => known,
            None => Content::read_any(&self.path)?,
        };
        let (had, has) = (before.keys.clone(), index::hashes(record));
        let without = |keys: &[u64], others: &[u64]| -> Vec<u64> {
            keys.iter().copied().filter(|key| !others.contains(key)).collect()
        };
        self.index.remove(&self.id, without(&had, &has).into_iter())?;
        let written = before.write(&self.path, record)?;
        self.index.add(&self.id, without(&has, &had).into_iter())?;
        self.set_known(Some(written));
        Ok(())
    }

    /// Sets what the file has, and returns what it had.
    fn set_known(&self, content: Option<Content>) -> Option<Content> {
        std::mem::replace(&mut *self.known.lock().unwrap_or_else(PoisonError::into_inner), content)
    }

    /// Starts to write the record to disk, while this process goes on.
    ///
    /// # Errors
    /// An I/O error, or there is no record.
    pub fn start_sync(&self) -> Result<PendingSync, Error> {
        Ok(PendingSync::start(&self.path)?)
    }

    /// Deletes the record, if there is one. After a loss of power it may exist again, and is
    /// deleted again by the agent or a DEL.
    pub fn remove(&self) -> Result<(), Error> {
        let known = self.set_known(None).map_or_else(|| Content::read_any(&self.path), Ok);
        // Of a file that cannot be read the keys are unknown.
        if let Ok(known) = known {
            self.index.remove(&self.id, known.keys.into_iter())?;
        }
        Ok(atomic_file::remove(&self.path)?)
    }
}

impl AsFd for LockedAttachment {
    /// The lock's open file. A process that inherits it holds the lock for as long as it runs.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lock.as_fd()
    }
}

fn lock_offset(id: &AttachmentId) -> u64 {
    locks::offset(&id.to_string())
}
