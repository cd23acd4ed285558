//! The file of one record: a line of JSON for each write, the last complete one of which counts.
//!
//! A later state is appended: a file that is replaced by a rename would be flushed by ext4 at once,
//! and an appended line that is cut by `kill -9`, or lost with the power, leaves the record as it
//! was before.

use super::Error;
use crate::model::attachment::{AttachmentId, Record};
use crate::store::atomic_file::{self, Durability};
use nix::libc;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::{Builder, JoinHandle};

/// A record has some 2 KiB, and is written up to four times. The largest part that users control is
/// the configuration of IPAM.
const SIZE_MAX: u64 = 64 << 10;
const EXTENSION: &str = ".json";

/// A record that is being written to disk in the background.
#[derive(Debug)]
pub struct PendingSync {
    file: PathBuf,
    sync: JoinHandle<std::io::Result<()>>,
}

impl PendingSync {
    pub(super) fn start(path: &Path) -> Result<Self, atomic_file::Error> {
        let failed = |error| atomic_file::Error::file("sync", path, error);
        let file = File::open(path).map_err(failed)?;
        let sync = Builder::new().name("sync".to_owned()).spawn(move || file.sync_data()).map_err(failed)?;
        Ok(Self { file: path.to_owned(), sync })
    }

    /// Waits until the record is on disk.
    ///
    /// # Errors
    /// When it could not be written there.
    pub fn wait(self) -> Result<(), Error> {
        let synced = self.sync.join().unwrap_or_else(|_| Err(ErrorKind::Other.into()));
        Ok(synced.map_err(|error| atomic_file::Error::file("sync", &self.file, error))?)
    }
}

pub(super) fn file_name(id: &AttachmentId) -> String {
    format!("{id}{EXTENSION}")
}

/// The attachment of a file; none for a file that is no record.
pub(super) fn attachment_of(name: &str) -> Option<AttachmentId> {
    name.strip_suffix(EXTENSION)?.parse().ok()
}

pub(super) fn read(path: &Path) -> Result<Option<Record>, atomic_file::Error> {
    let Some(text) = atomic_file::read_text(path, SIZE_MAX)? else { return Ok(None) };
    let record = atomic_file::parse::<Record>(path, last_line(&text), Record::VERSION)?;
    record.map(|record| expect_id(path, &record).map(|()| record)).transpose()
}

/// The last line that is complete; the whole text, which is damaged or empty, if there is none.
fn last_line(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte == b'\n');
    let complete = end.and_then(|end| text.get(..end)).unwrap_or(text);
    complete.rsplit(|byte| *byte == b'\n').find(|line| !line.is_empty()).unwrap_or(complete)
}

/// Appends the record, or creates the file.
pub(super) fn write(path: &Path, record: &Record) -> Result<(), Error> {
    expect_id(path, record)?;
    let encoded = serde_json::to_vec(record);
    let mut line = encoded.map_err(|source| atomic_file::Error::Invalid { path: path.to_owned(), source })?;
    line.push(b'\n');
    let size = size_of(&line);
    if size > SIZE_MAX {
        return Err(Error::RecordTooLarge { id: record.id.clone(), size, max_size: SIZE_MAX });
    }
    let present = atomic_file::read_text(path, SIZE_MAX)?.unwrap_or_default();
    if present.is_empty() {
        atomic_file::write_text(path, &line, Durability::Process)?;
    } else if size_of(&present).saturating_add(size).saturating_add(1) > SIZE_MAX {
        // What it replaces may be on disk by now.
        atomic_file::write_text(path, &line, Durability::Content)?;
    } else {
        append(path, &present, &line)?;
    }
    Ok(())
}

fn append(path: &Path, present: &[u8], line: &[u8]) -> Result<(), atomic_file::Error> {
    let failed = |error| atomic_file::Error::file("append to", path, error);
    let mut options = OpenOptions::new();
    let mut file = options.append(true).custom_flags(libc::O_NOFOLLOW).open(path).map_err(failed)?;
    // An earlier call was killed in the middle of a line, which would hide this one.
    let written = if present.ends_with(b"\n") { file.write_all(line) } else { file.write_all(&[b"\n", line].concat()) };
    written.map_err(failed)
}

fn size_of(text: &[u8]) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

fn expect_id(path: &Path, record: &Record) -> Result<(), atomic_file::Error> {
    // Ids may have dots, so that two of them could have one file name.
    if path.file_name().is_some_and(|name| name == file_name(&record.id).as_str()) {
        Ok(())
    } else {
        Err(atomic_file::Error::Misplaced { path: path.to_owned(), content: format!("attachment {}", record.id) })
    }
}
