//! The file of one record: a line of JSON for each write, the last complete one of which counts.
//!
//! A later state is appended: a file that is replaced by a rename would be flushed by ext4 at once,
//! and an appended line that is cut by `kill -9`, or lost with the power, leaves the record as it
//! was before.

use super::{Error, index};
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
    Content::read(path).map(|(_, record)| record)
}

fn parse(path: &Path, text: &[u8]) -> Result<Option<Record>, atomic_file::Error> {
    let record = atomic_file::parse::<Record>(path, last_line(text), Record::VERSION)?;
    record.map(|record| expect_id(path, &record).map(|()| record)).transpose()
}

/// The last line that is complete; the whole text, which is damaged or empty, if there is none.
fn last_line(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte == b'\n');
    let complete = end.and_then(|end| text.get(..end)).unwrap_or(text);
    complete.rsplit(|byte| *byte == b'\n').find(|line| !line.is_empty()).unwrap_or(complete)
}

/// The content of the file, as far as the holder of its lock has read or written it.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// The hashes of the keys of its record; none if there is none that can be read.
    pub(super) keys: Vec<u64>,
    /// In bytes. A file without any is created again.
    size: u64,
    /// Whether the file exists.
    exists: bool,
    /// Whether an earlier call was killed in the middle of the last line.
    is_cut: bool,
    /// Open for further lines, if this holder has written one.
    file: Option<File>,
}

impl Content {
    /// Reads the file with its record.
    pub(super) fn read(path: &Path) -> Result<(Self, Option<Record>), atomic_file::Error> {
        let Some(text) = atomic_file::read_text(path, SIZE_MAX)? else { return Ok((Self::default(), None)) };
        let record = parse(path, &text)?;
        let keys = record.as_ref().map(index::hashes).unwrap_or_default();
        Ok((Self { keys, ..Self::of(&text) }, record))
    }

    /// Reads the file, whether or not it has a record.
    pub(super) fn read_any(path: &Path) -> Result<Self, atomic_file::Error> {
        let Some(text) = atomic_file::read_text(path, SIZE_MAX)? else { return Ok(Self::default()) };
        let keys = parse(path, &text).ok().flatten().as_ref().map(index::hashes).unwrap_or_default();
        Ok(Self { keys, ..Self::of(&text) })
    }

    fn of(text: &[u8]) -> Self {
        let is_cut = !text.is_empty() && !text.ends_with(b"\n");
        Self { keys: Vec::new(), size: size_of(text), exists: true, is_cut, file: None }
    }

    /// Appends the record, or creates the file.
    pub(super) fn write(self, path: &Path, record: &Record) -> Result<Self, Error> {
        let keys = index::hashes(record);
        let line = line_of(path, record)?;
        let size = size_of(&line);
        let file = if self.size > 0 && self.size.saturating_add(size).saturating_add(1) > SIZE_MAX {
            // What it replaces may be on disk by now.
            atomic_file::write_text(path, &line, Durability::Content)?;
            None
        } else if self.size > 0 {
            Some(append(path, self.file, self.is_cut, &line)?)
        } else if self.exists || line.len() > atomic_file::PAGE {
            atomic_file::write_text(path, &line, Durability::Process)?;
            None
        } else {
            Some(create(path, &line)?)
        };
        let size =
            if file.is_some() { self.size.saturating_add(size).saturating_add(self.is_cut.into()) } else { size };
        Ok(Self { keys, size, exists: true, is_cut: false, file })
    }
}

/// The line of a record, with its end.
fn line_of(path: &Path, record: &Record) -> Result<Vec<u8>, Error> {
    expect_id(path, record)?;
    let encoded = serde_json::to_vec(record);
    let mut line = encoded.map_err(|source| atomic_file::Error::Invalid { path: path.to_owned(), source })?;
    line.push(b'\n');
    let size = size_of(&line);
    if size > SIZE_MAX {
        return Err(Error::RecordTooLarge { id: record.id.clone(), size, max_size: SIZE_MAX });
    }
    Ok(line)
}

/// Creates the file in its place, where a line has no more than a page, which is written in one
/// step: before it the file is empty, which counts as absent.
fn create(path: &Path, line: &[u8]) -> Result<File, atomic_file::Error> {
    let mut options = OpenOptions::new();
    let created = options.append(true).create_new(true).mode(0o600).open(path);
    let mut file = created.map_err(|error| atomic_file::Error::file("create", path, error))?;
    if let Err(error) = file.write_all(line) {
        atomic_file::remove(path)?;
        return Err(atomic_file::Error::file("write", path, error));
    }
    Ok(file)
}

fn append(path: &Path, file: Option<File>, is_cut: bool, line: &[u8]) -> Result<File, atomic_file::Error> {
    let failed = |error| atomic_file::Error::file("append to", path, error);
    let mut options = OpenOptions::new();
    let open = || options.append(true).custom_flags(libc::O_NOFOLLOW).open(path);
    let mut file = file.map_or_else(open, Ok).map_err(failed)?;
    // The cut line would hide this one.
    let written = if is_cut { file.write_all(&[b"\n", line].concat()) } else { file.write_all(line) };
    written.map(|()| file).map_err(failed)
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
