//! Small JSON files that are there whole or not at all, whenever their writer is killed.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Why a state file of usnet could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The content is not what usnet writes there: the file was edited or is damaged.
    #[error("{} is damaged or was edited; move it away so that usnet writes it again", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Where in it, and what is wrong.
        source: serde_json::Error,
    },
    /// A later release of usnet wrote it.
    #[error(
        "{} has layout {found}, but this release of usnet supports at most {known}; upgrade usnet on this node",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its layout.
        found: u32,
        /// The latest layout that this release can read.
        known: u32,
    },
    /// The content belongs to another file name: the file was copied or renamed.
    #[error("{} contains {content}: it was renamed or copied; move it away", path.display())]
    Misplaced {
        /// The file.
        path: PathBuf,
        /// What it is about.
        content: String,
    },
}

impl Error {
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
    /// A loss of power.
    Machine,
}

/// Reads a file; `None` if it does not exist. Its member `version`, if present, must not exceed
/// `known`.
///
/// # Errors
/// The file cannot be read, is damaged or was written by a later release.
pub fn read<T: DeserializeOwned>(path: &Path, known: u32) -> Result<Option<T>, Error> {
    #[derive(serde::Deserialize)]
    struct Version {
        #[serde(default)]
        version: u32,
    }
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::file("read", path, error)),
    };
    // What was written for [`Durability::Process`] and cut by a loss of power.
    if text.is_empty() {
        return Ok(None);
    }
    let invalid = |source| Error::Invalid { path: path.to_owned(), source };
    // The version comes first: a later layout may hold anything.
    let Version { version } = serde_json::from_slice(&text).map_err(invalid)?;
    if version > known {
        return Err(Error::Newer { path: path.to_owned(), found: version, known });
    }
    serde_json::from_slice(&text).map(Some).map_err(invalid)
}

/// Writes a file atomically, through a hidden temporary file beside it. The caller must ensure that
/// there is no concurrent writer to `path`.
///
/// # Errors
/// An I/O error.
pub fn write<T: Serialize>(path: &Path, content: &T, durability: Durability) -> Result<(), Error> {
    let text = encode(path, content)?;
    let is_new = !path.exists();
    let temporary = temporary(path);
    let failed = |action| {
        let path = temporary.clone();
        move |source| Error::Io { action, path, source }
    };
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&temporary).map_err(failed("create"))?;
    file.write_all(&text).map_err(failed("write"))?;
    if durability != Durability::Process {
        file.sync_data().map_err(failed("sync"))?;
    }
    fs::rename(&temporary, path).map_err(failed("rename"))?;
    // If the name exists already, a loss of power leaves one of two complete files; only a new name
    // can be lost.
    if durability == Durability::Machine && is_new { sync_folder(path) } else { Ok(()) }
}

/// Writes a file if its content differs from the present one. Returns whether it was written.
///
/// # Errors
/// As [`write()`].
pub fn write_if_changed<T: Serialize>(path: &Path, content: &T, durability: Durability) -> Result<bool, Error> {
    let text = encode(path, content)?;
    if fs::read(path).is_ok_and(|present| present == text) {
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
///
/// # Errors
/// An I/O error.
pub fn create_folder(path: &Path, mode: u32) -> Result<(), Error> {
    DirBuilder::new().recursive(true).mode(mode).create(path).map_err(|error| Error::file("create", path, error))
}

fn encode<T: Serialize>(path: &Path, content: &T) -> Result<Vec<u8>, Error> {
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
