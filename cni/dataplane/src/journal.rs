//! Which pods are attached: one record for each attachment, on disk before the first change to an engine and gone last.
//!
//! The plugin and the agent both write here. They take turns on an attachment by its lock; whoever is killed frees its own, and leaves the
//! record as it was before or after a write.

use crate::atomic_file::{self, Durability};
use crate::attachment::{AttachmentId, ContainerId, PodUid, Progress, Record};
use crate::lock::Lock;
use crate::paths::NodePaths;
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

/// How long one waits for an attachment that another process is working on.
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
        "attachment {0} is being worked on by another process for more than {seconds} s; try again",
        seconds = LOCK_TIMEOUT.as_secs()
    )]
    Busy(AttachmentId),
}

/// The attachment records of a node.
#[derive(Debug, Clone)]
pub struct Journal {
    folder: PathBuf,
}

/// An attachment that nobody else changes now. Dropping it lets the next one in; one of several that were locked together goes with the last of them.
#[derive(Debug)]
pub struct Locked {
    id: AttachmentId,
    path: PathBuf,
    lock: Arc<Lock>,
}

/// Which of several attachments could be locked.
#[derive(Debug, Default)]
pub struct LockedTogether {
    /// Those that nobody else changes now.
    pub locked: Vec<Locked>,
    /// Those that somebody works on.
    pub busy: Vec<AttachmentId>,
}

/// All records of a node.
#[derive(Debug, Default)]
pub struct Records {
    /// Those that this release understands.
    pub records: Vec<Record>,
    /// Those that it does not. Their ports and pods are unknown, so nothing may be concluded from a record's absence.
    pub unreadable: Vec<atomic_file::Error>,
}

impl Journal {
    /// The journal of a node. Its folder is made when it is missing, for root alone.
    ///
    /// # Errors
    /// When the folder cannot be made.
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

    /// Waits up to [`LOCK_TIMEOUT`] until nobody else works on this attachment.
    ///
    /// # Errors
    /// [`Error::Busy`] when somebody still does.
    pub fn lock(&self, id: &AttachmentId) -> Result<Locked, Error> {
        self.lock_within(id, LOCK_TIMEOUT)
    }

    /// Locks those of these attachments that nobody works on now. However many they are, they need one open file.
    ///
    /// # Errors
    /// When a lock cannot be tried.
    pub fn try_lock_all<'a>(&self, ids: impl IntoIterator<Item = &'a AttachmentId>) -> Result<LockedTogether, Error> {
        let lock = Arc::new(Lock::open(&self.lock_file())?);
        let mut all = LockedTogether::default();
        for id in ids {
            if lock.try_add(lock_offset(id))? {
                all.locked.push(self.locked(id, Arc::clone(&lock)));
            } else {
                all.busy.push(id.clone());
            }
        }
        Ok(all)
    }

    fn lock_within(&self, id: &AttachmentId, timeout: Duration) -> Result<Locked, Error> {
        let lock = Lock::take(&self.lock_file(), lock_offset(id), timeout)?;
        let lock = lock.ok_or_else(|| Error::Busy(id.clone()))?;
        Ok(self.locked(id, Arc::new(lock)))
    }

    fn locked(&self, id: &AttachmentId, lock: Arc<Lock>) -> Locked {
        Locked { id: id.clone(), path: self.folder.join(file_name(id)), lock }
    }

    fn lock_file(&self) -> PathBuf {
        self.folder.join(LOCK_FILE)
    }

    /// All records, each as it was at some moment of this call. They are read without locks: take the lock and read again before you act on one.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn records(&self) -> Result<Records, Error> {
        self.records_where(|_| Ok(true))
    }

    /// The records of one pod, like [`Journal::records`], for who cannot take the time to understand all of them. What cannot be read and may
    /// be of that pod is among the unreadable ones.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn records_of_pod(&self, pod: &PodUid) -> Result<Records, Error> {
        let mut all = self.records_where(|path| may_be_of_pod(path, pod))?;
        all.records.retain(|record| record.pod.uid == *pod);
        Ok(all)
    }

    /// The records of one container, like [`Journal::records`]. What cannot be read and may be of that container is among the unreadable ones.
    ///
    /// # Errors
    /// When the folder cannot be listed.
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
                // Not wanted, or it went while we read the others.
                Ok(None) => {}
                Err(error) => all.unreadable.push(error),
            }
        }
        Ok(all)
    }
}

impl Locked {
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

    /// Makes or replaces the record. What says that something is about to change is on the disk once this returns. That an attachment stands need
    /// not be: a loss of power takes its pod along.
    ///
    /// # Errors
    /// When the disk refuses, or `record` is of another attachment than the locked one.
    pub fn write(&self, record: &Record) -> Result<(), Error> {
        expect_id(&self.path, record)?;
        let durability = match record.progress {
            Progress::Attaching | Progress::Detaching | Progress::Detached => Durability::Content,
            Progress::Attached => Durability::Process,
        };
        Ok(atomic_file::write(&self.path, record, durability)?)
    }

    /// Removes the record, if there is one. After a loss of power it may be back, and is removed again by whoever finds it.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn remove(&self) -> Result<(), Error> {
        Ok(atomic_file::remove(&self.path)?)
    }
}

impl AsFd for Locked {
    /// The lock's open file. A process that inherits it holds the lock for as long as it runs.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lock.as_fd()
    }
}

/// Two attachments with one hash take turns, which does no harm.
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

/// Whether a record could be of this pod, by its text alone. One that names the uid of some pod, and not this one's, is another's, whatever
/// else is in it. Uids have no characters that JSON writes in two ways.
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
