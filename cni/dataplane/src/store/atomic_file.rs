//! Small JSON files that are there whole or not at all, whenever their writer is killed.

use nix::errno::Errno;
use nix::libc;
use nix::sys::stat::{Mode, SFlag, mknod};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;

/// What a file system shows to readers in one step, in bytes.
pub(crate) const PAGE: usize = 4096;

/// Why a state file of usnet could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {action} {}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    /// The content is not what usnet writes there: the file was edited or is damaged.
    #[error("{} is damaged or was edited; move it away so that usnet writes it again", path.display())]
    Invalid {
        path: PathBuf,
        /// Where in it, and what is wrong.
        source: serde_json::Error,
    },
    /// Something else is in its place: a link, a folder, a FIFO or a device.
    #[error("{} is not a regular file, so usnet did not write it; move it away", .0.display())]
    NotAFile(PathBuf),
    /// The file is larger than anything that usnet writes there.
    #[error("{} has more than {max_size} bytes, so usnet did not write it; move it away", path.display())]
    TooLarge {
        path: PathBuf,
        /// The largest size that usnet reads there, in bytes.
        max_size: u64,
    },
    /// A later release of usnet wrote it.
    #[error(
        "{} has layout {found}, but this release of usnet supports at most {known}; upgrade usnet on this node",
        path.display()
    )]
    Newer {
        path: PathBuf,
        found: u32,
        /// The latest layout that this release can read.
        known: u32,
    },
    /// The content belongs to another file name: the file was copied or renamed.
    #[error("{} contains {content}: it was renamed or copied; move it away", path.display())]
    Misplaced { path: PathBuf, content: String },
}

impl Error {
    /// Whether the file or its folder does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    pub(crate) fn file(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}

/// What a file must outlive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The end of its writer. Enough for what does not outlive a reboot anyway.
    Process,
    /// A loss of power, after which it may be missing if it was new, but never cut.
    Content,
    Machine,
}

/// Reads a file of at most `max_size` bytes; `None` if it does not exist. Its member `version`, if
/// present, must not exceed `known`.
///
/// # Errors
/// The file cannot be read, is damaged or was written by a later release, or is no regular file of
/// that size.
pub fn read<T: DeserializeOwned>(path: &Path, known: u32, max_size: u64) -> Result<Option<T>, Error> {
    match read_text(path, max_size)? {
        Some(text) => parse(path, &text, known),
        None => Ok(None),
    }
}

/// Parses the content of a file, as [`read()`] does.
pub(crate) fn parse<T: DeserializeOwned>(path: &Path, text: &[u8], known: u32) -> Result<Option<T>, Error> {
    #[derive(serde::Deserialize)]
    struct Version {
        #[serde(default)]
        version: u32,
    }
    // What was written for [`Durability::Process`] and cut by a loss of power.
    if text.is_empty() {
        return Ok(None);
    }
    let invalid = |source| Error::Invalid { path: path.to_owned(), source };
    // The version comes first: a later layout may hold anything.
    let Version { version } = serde_json::from_slice(text).map_err(invalid)?;
    if version > known {
        return Err(Error::Newer { path: path.to_owned(), found: version, known });
    }
    serde_json::from_slice(text).map(Some).map_err(invalid)
}

/// Reads a regular file; `None` if it does not exist. In its place may be anything, such as a FIFO
/// without a writer or a link to a device without end: neither is waited for or followed.
pub(crate) fn read_text(path: &Path, max_size: u64) -> Result<Option<Vec<u8>>, Error> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let failed = |error| Error::file("read", path, error);
    let mut file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        // A link, or a socket.
        Err(error) if [Errno::ELOOP, Errno::ENXIO].map(|it| Some(it as i32)).contains(&error.raw_os_error()) => {
            return Err(Error::NotAFile(path.to_owned()));
        }
        Err(error) => return Err(failed(error)),
    };
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(Error::NotAFile(path.to_owned()));
    }
    let text = read_whole(&mut file, metadata.len(), max_size).map_err(failed)?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > max_size {
        return Err(Error::TooLarge { path: path.to_owned(), max_size });
    }
    Ok(Some(text))
}

/// Reads a file of this size, and one byte more than `max_size` at most, which shows that there is
/// more. One system call reads a file that does not grow meanwhile.
fn read_whole(file: &mut File, size: u64, max_size: u64) -> io::Result<Vec<u8>> {
    let size = usize::try_from(size.min(max_size)).unwrap_or_default();
    // A read that returns less than there is room for has reached the end.
    let mut text = vec![0; size.saturating_add(1)];
    let mut length = 0;
    while length < text.len() {
        match file.read(text.get_mut(length..).unwrap_or_default()) {
            Ok(0) => break,
            Ok(bytes) => length += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if length == size {
            break;
        }
    }
    text.truncate(length);
    if length > size {
        let left = max_size.saturating_add(1).saturating_sub(u64::try_from(length).unwrap_or(u64::MAX));
        file.take(left).read_to_end(&mut text)?;
    }
    Ok(text)
}

/// Writes a file atomically, through a hidden temporary file beside it. The caller must ensure that
/// there is no concurrent writer to `path`.
pub fn write<T: Serialize>(path: &Path, content: &T, durability: Durability) -> Result<(), Error> {
    write_text(path, &encode(path, content)?, durability)
}

/// Writes a file for [`Durability::Process`], and returns its metadata as it was written, by which
/// a change by another program is noticed. One that is new and small is created
/// in its place, which takes half the time: until it is written it is empty, which counts as
/// absent, and one page is written in one step.
pub(crate) fn write_new(path: &Path, text: &[u8]) -> Result<Metadata, Error> {
    let is_small = text.len() <= PAGE;
    let created = is_small.then(|| OpenOptions::new().write(true).create_new(true).mode(0o600).open(path));
    match created {
        Some(Ok(mut file)) => {
            let written = file.write_all(text).map_err(|error| Error::file("write", path, error));
            if written.is_err() {
                remove(path)?;
            }
            written?;
            file.metadata().map_err(|error| Error::file("read", path, error))
        }
        // Why it cannot be created otherwise shows again.
        Some(Err(_)) | None => replace(path, text, Durability::Process),
    }
}

/// Writes a file as [`write()`] does, with this content.
pub(crate) fn write_text(path: &Path, text: &[u8], durability: Durability) -> Result<(), Error> {
    replace(path, text, durability).map(drop)
}

fn replace(path: &Path, text: &[u8], durability: Durability) -> Result<Metadata, Error> {
    let is_new = durability == Durability::Machine && !path.exists();
    let temporary = temporary(path);
    let failed = |action| {
        let path = temporary.clone();
        move |source| Error::Io { action, path, source }
    };
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&temporary).map_err(failed("create"))?;
    file.write_all(text).map_err(failed("write"))?;
    if durability != Durability::Process {
        file.sync_data().map_err(failed("sync"))?;
    }
    // Before other programs can change the file.
    let metadata = file.metadata().map_err(failed("read"))?;
    fs::rename(&temporary, path).map_err(failed("rename"))?;
    // If the name exists already, a loss of power leaves one of two complete files; only a new name
    // can be lost.
    if is_new {
        sync_folder(path)?;
    }
    Ok(metadata)
}

/// Writes a file if its content differs from the present one. Returns whether it was written.
///
/// # Errors
/// As [`write()`].
pub fn write_if_changed<T: Serialize>(path: &Path, content: &T, durability: Durability) -> Result<bool, Error> {
    let text = encode(path, content)?;
    let size = u64::try_from(text.len()).unwrap_or(u64::MAX);
    if read_text(path, size).is_ok_and(|present| present.as_ref() == Some(&text)) {
        return Ok(false);
    }
    write(path, content, durability).map(|()| true)
}

/// Deletes a file and the temporary file of a killed writer, if they exist.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    for path in [&temporary(path), path] {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::file("remove", path, error)),
            _ => {}
        }
    }
    Ok(())
}

/// Checks that files can be written into a folder, by writing one.
///
/// # Errors
/// When the disk is full or read-only.
pub fn check_writable(folder: &Path) -> Result<(), Error> {
    let path = folder.join(format!(".probe.{}", process::id()));
    let written = write(&path, &(), Durability::Process);
    // Also what a write that failed has left.
    let removed = remove(&path);
    written.and(removed)
}

/// Creates an empty file, if missing, by one system call.
pub(crate) fn create_empty(path: &Path) -> io::Result<()> {
    match mknod(path, SFlag::S_IFREG, Mode::S_IRUSR | Mode::S_IWUSR, 0) {
        Ok(()) | Err(Errno::EEXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The sorted file names in a directory, empty if the directory does not exist. Hidden files
/// (locks, temporary files) are skipped.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let failed = |error| Error::file("list", folder, error);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Creates a directory and its parents with these permissions, if missing.
pub fn create_folder(path: &Path, mode: u32) -> Result<(), Error> {
    DirBuilder::new().recursive(true).mode(mode).create(path).map_err(|error| Error::file("create", path, error))
}

pub(crate) fn encode<T: Serialize>(path: &Path, content: &T) -> Result<Vec<u8>, Error> {
    let encoded = serde_json::to_vec_pretty(content);
    encoded.map_err(|source| Error::Invalid { path: path.to_owned(), source })
}

/// The temporary path of a file. There is one for each file, so that the next writer overwrites
/// what a killed writer left.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.new"))
}

fn sync_folder(path: &Path) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    File::open(folder).and_then(|opened| opened.sync_all()).map_err(|error| Error::file("sync", folder, error))
}
