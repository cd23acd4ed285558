//! The journal of attachments: one record for each, on disk before the first change of an engine
//! and deleted last.
//!
//! Both the plugin and the agent write here, serialised by a lock for each attachment. A killed
//! process releases its locks, and leaves a record as it was either before or after a write.

use crate::model::attachment::{AttachmentId, ContainerId, PodUid, Progress, Record};
use crate::store::atomic_file::{self, Durability};
use crate::store::locks::Lock;
use crate::store::paths::NodePaths;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process;
use std::str;
use std::sync::Arc;
use std::time::Duration;
use usnet_crds::names::fnv1a;

#[cfg(test)]
mod tests;

/// How long to wait for an attachment that is locked by another process.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

const LOCK_FILE: &str = ".lock";
const EXTENSION: &str = ".json";

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
}

/// The attachment records of a node.
#[derive(Debug, Clone)]
pub struct Journal {
    folder: PathBuf,
}

/// An attachment that is locked by this process. Dropping it releases the lock; the locks of
/// several attachments that were locked together are released with the last of them.
#[derive(Debug)]
pub struct LockedAttachment {
    id: AttachmentId,
    path: PathBuf,
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

/// All records of a node.
#[derive(Debug, Default)]
pub struct Records {
    /// The records that this release can read.
    pub records: Vec<Record>,
    /// The records that it cannot read. Their ports and pods are unknown, so that the absence of a
    /// record proves nothing.
    pub unreadable: Vec<atomic_file::Error>,
}

impl Journal {
    /// Opens the journal of a node. Its directory is created if missing, accessible to root only.
    ///
    /// # Errors
    /// The directory cannot be created.
    pub fn open(paths: &NodePaths) -> Result<Self, Error> {
        let folder = paths.attachments();
        atomic_file::create_folder(&folder, 0o700)?;
        Ok(Self { folder })
    }

    /// Whether a record could be written now.
    ///
    /// # Errors
    /// When the disk is full or read-only.
    pub fn check_writable(&self) -> Result<(), Error> {
        let path = self.folder.join(format!(".probe.{}", process::id()));
        atomic_file::write(&path, &(), Durability::Process)?;
        Ok(atomic_file::remove(&path)?)
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
        let lock = Arc::new(Lock::open(&self.lock_file())?);
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
        let lock = Lock::take(&self.lock_file(), lock_offset(id), timeout)?;
        let lock = lock.ok_or_else(|| Error::Busy(id.clone()))?;
        Ok(self.locked(id, Arc::new(lock)))
    }

    fn locked(&self, id: &AttachmentId, lock: Arc<Lock>) -> LockedAttachment {
        LockedAttachment { id: id.clone(), path: self.folder.join(file_name(id)), lock }
    }

    fn lock_file(&self) -> PathBuf {
        self.folder.join(LOCK_FILE)
    }

    /// All records, each as it was at some moment of this call. They are read without locks: lock
    /// an attachment and read its record again before acting on it.
    ///
    /// # Errors
    /// The directory cannot be listed.
    pub fn records(&self) -> Result<Records, Error> {
        self.records_where(|_| Ok(true))
    }

    /// The records of one pod, like [`Journal::records`], without parsing all others. Unreadable
    /// records that may be of that pod are reported as such.
    ///
    /// # Errors
    /// The directory cannot be listed.
    pub fn records_of_pod(&self, pod: &PodUid) -> Result<Records, Error> {
        let mut all = self.records_where(|path| may_be_of_pod(path, pod))?;
        all.records.retain(|record| record.pod.uid == *pod);
        Ok(all)
    }

    /// The records of one container, like [`Journal::records`]. Unreadable records that may be of
    /// that container are reported as such.
    ///
    /// # Errors
    /// The directory cannot be listed.
    pub fn records_of_container(&self, container: &ContainerId) -> Result<Records, Error> {
        let start = format!("{container}.");
        let is_named = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start));
        let mut all = self.records_where(|path| Ok(is_named(path)))?;
        all.records.retain(|record| record.id.container == *container);
        Ok(all)
    }

    fn records_where(&self, selects: impl Fn(&Path) -> Result<bool, atomic_file::Error>) -> Result<Records, Error> {
        let mut all = Records::default();
        for name in atomic_file::names(&self.folder)? {
            let path = self.folder.join(&name);
            match selects(&path).and_then(|is_selected| if is_selected { read(&path) } else { Ok(None) }) {
                Ok(Some(record)) => all.records.push(record),
                // Not selected, or deleted while the others were read.
                Ok(None) => {}
                Err(error) => all.unreadable.push(error),
            }
        }
        Ok(all)
    }
}

impl LockedAttachment {
    /// Which attachment this is.
    pub fn id(&self) -> &AttachmentId {
        &self.id
    }

    /// The record, if there is one.
    ///
    /// # Errors
    /// When there is one that cannot be read or is of a later release.
    pub fn read(&self) -> Result<Option<Record>, Error> {
        Ok(read(&self.path)?)
    }

    /// Creates or replaces the record. A record that announces a change is on disk once this
    /// returns. A record of an attached interface need not be: a loss of power ends its pod as
    /// well.
    ///
    /// # Errors
    /// An I/O error, or `record` is of another attachment than the locked one.
    pub fn write(&self, record: &Record) -> Result<(), Error> {
        expect_id(&self.path, record)?;
        let durability = match record.progress {
            Progress::Attaching | Progress::Detaching | Progress::Detached => Durability::Content,
            Progress::Attached => Durability::Process,
        };
        Ok(atomic_file::write(&self.path, record, durability)?)
    }

    /// Deletes the record, if there is one. After a loss of power it may exist again, and is
    /// deleted again by the agent or a DEL.
    ///
    /// # Errors
    /// An I/O error.
    pub fn remove(&self) -> Result<(), Error> {
        Ok(atomic_file::remove(&self.path)?)
    }
}

impl AsFd for LockedAttachment {
    /// The lock's open file. A process that inherits it holds the lock for as long as it runs.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lock.as_fd()
    }
}

/// Two attachments with the same hash share a lock, which is harmless.
fn lock_offset(id: &AttachmentId) -> u64 {
    fnv1a(id.to_string().as_bytes())
}

fn file_name(id: &AttachmentId) -> String {
    format!("{id}{EXTENSION}")
}

fn read(path: &Path) -> Result<Option<Record>, atomic_file::Error> {
    let record = atomic_file::read::<Record>(path, Record::VERSION)?;
    record.map(|record| expect_id(path, &record).map(|()| record)).transpose()
}

/// Whether a record could be of this pod, judged by its text alone. A record with the uid of
/// another pod is not, whatever else it contains. JSON has only one representation of the
/// characters of a uid.
fn may_be_of_pod(path: &Path, pod: &PodUid) -> Result<bool, atomic_file::Error> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(atomic_file::Error::file("read", path, error)),
    };
    let is_anothers = |text: &str| text.contains("\"uid\"") && !text.contains(pod.as_str());
    Ok(!str::from_utf8(&text).is_ok_and(is_anothers))
}

fn expect_id(path: &Path, record: &Record) -> Result<(), atomic_file::Error> {
    // Ids may have dots, so that two of them could have one file name.
    if path.file_name().is_some_and(|name| name == file_name(&record.id).as_str()) {
        Ok(())
    } else {
        Err(atomic_file::Error::Misplaced { path: path.to_owned(), content: format!("attachment {}", record.id) })
    }
}
