//! Tar files that depend on nothing but names and contents: owners are 0, and all times are the
//! same.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use tar::{Builder, EntryType, Header};

use crate::commands::{self, CommandError};

/// Why a tar file could not be written.
#[derive(Debug, thiserror::Error)]
pub enum TarballError {
    /// A file could not be read or written.
    #[error("cannot put {path} into a tar file")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// `gzip` failed.
    #[error(transparent)]
    Gzip(#[from] CommandError),
}

/// A tar file: entries are added one by one, each name once, and folders are made as they are
/// needed.
pub struct Tarball {
    builder: Builder<File>,
    path: PathBuf,
    time: u64,
    added: BTreeSet<PathBuf>,
}

impl Tarball {
    /// An empty one that is written to `path`, with `time` (in seconds since 1970) for all entries.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: &Path, time: u64) -> Result<Self, TarballError> {
        let file = File::create(path).map_err(|source| file_error(path, source))?;
        Ok(Self { builder: Builder::new(file), path: path.to_owned(), time, added: BTreeSet::new() })
    }

    /// Adds a copy of the program `source`.
    ///
    /// # Errors
    /// When it cannot be read or the tar file not be written.
    pub fn program(&mut self, target: &Path, source: &Path) -> Result<(), TarballError> {
        self.copy(target, source, 0o755)
    }

    /// Adds a copy of a file that is no program.
    ///
    /// # Errors
    /// When it cannot be read or the tar file not be written.
    pub fn file(&mut self, target: &Path, source: &Path) -> Result<(), TarballError> {
        self.copy(target, source, 0o644)
    }

    /// Adds a file with this content.
    ///
    /// # Errors
    /// When the tar file cannot be written.
    pub fn content(&mut self, target: &Path, content: &[u8]) -> Result<(), TarballError> {
        self.append(target, EntryType::Regular, 0o644, content.len() as u64, content)
    }

    /// Adds a symbolic link that leads to `destination`.
    ///
    /// # Errors
    /// When the tar file cannot be written.
    pub fn link(&mut self, target: &Path, destination: &Path) -> Result<(), TarballError> {
        if !self.begin(target)? {
            return Ok(());
        }
        let mut header = self.header(EntryType::Symlink, 0o755, 0);
        self.builder
            .append_link(&mut header, relative(target), destination)
            .map_err(|source| file_error(target, source))
    }

    /// Adds a folder with those above it.
    ///
    /// # Errors
    /// When the tar file cannot be written.
    pub fn folder(&mut self, target: &Path) -> Result<(), TarballError> {
        if relative(target).as_os_str().is_empty() {
            return Ok(());
        }
        self.append(target, EntryType::Directory, 0o755, 0, io::empty())
    }

    /// Ends the tar file and gives its path.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> Result<PathBuf, TarballError> {
        self.builder.finish().map_err(|source| file_error(&self.path, source))?;
        Ok(self.path)
    }

    /// Ends the tar file and replaces it by `path`, which is compressed by gzip without name and
    /// time.
    ///
    /// # Errors
    /// When a file cannot be read or written, or gzip fails.
    pub fn finish_compressed(self, path: &Path) -> Result<(), TarballError> {
        let plain = self.finish()?;
        let content = std::fs::read(&plain).map_err(|source| file_error(&plain, source))?;
        let compressed = commands::run(Command::new("gzip").args(["-9", "--no-name", "--stdout"]), &content)?;
        std::fs::write(path, compressed).map_err(|source| file_error(path, source))?;
        std::fs::remove_file(&plain).map_err(|source| file_error(&plain, source))
    }

    fn copy(&mut self, target: &Path, source: &Path, mode: u32) -> Result<(), TarballError> {
        let failed = |error| file_error(source, error);
        let file = File::open(source).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        self.append(target, EntryType::Regular, mode, size, file)
    }

    fn append(
        &mut self,
        target: &Path,
        kind: EntryType,
        mode: u32,
        size: u64,
        content: impl Read,
    ) -> Result<(), TarballError> {
        if !self.begin(target)? {
            return Ok(());
        }
        let mut header = self.header(kind, mode, size);
        self.builder.append_data(&mut header, relative(target), content).map_err(|source| file_error(target, source))
    }

    /// False when there is such an entry already; otherwise makes the folders above it.
    fn begin(&mut self, target: &Path) -> Result<bool, TarballError> {
        if !self.added.insert(relative(target)) {
            return Ok(false);
        }
        if let Some(parent) = target.parent() {
            self.folder(parent)?;
        }
        Ok(true)
    }

    fn header(&self, kind: EntryType, mode: u32, size: u64) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(self.time);
        header
    }
}

fn relative(target: &Path) -> PathBuf {
    target.components().filter(|component| matches!(component, Component::Normal(_))).collect()
}

fn file_error(path: &Path, source: io::Error) -> TarballError {
    TarballError::File { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn make(folder: &Path, source: &Path) -> Vec<u8> {
        let mut tarball = Tarball::create(&folder.join("plain.tar"), 1_700_000_000).unwrap();
        tarball.program(Path::new("/usr/bin/tool"), source).unwrap();
        tarball.link(Path::new("/usr/bin/other"), Path::new("tool")).unwrap();
        tarball.content(Path::new("/etc/text"), b"text").unwrap();
        tarball.content(Path::new("/etc/text"), b"ignored").unwrap();
        tarball.finish_compressed(&folder.join("tar.gz")).unwrap();
        std::fs::read(folder.join("tar.gz")).unwrap()
    }

    #[test]
    fn nothing_but_names_and_contents_matters() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        std::fs::write(&source, "program").unwrap();
        let first = make(folder.path(), &source);
        let other = folder.path().join("other");
        std::fs::write(&other, "program").unwrap();
        std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o600)).unwrap();
        File::open(&other).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(first, make(folder.path(), &other));
        assert!(!folder.path().join("plain.tar").exists());
    }

    #[test]
    fn folders_come_before_what_is_in_them_and_names_come_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.tar");
        let mut tarball = Tarball::create(&path, 7).unwrap();
        tarball.content(Path::new("/a/b/c"), b"1").unwrap();
        tarball.content(Path::new("/a/b/d"), b"2").unwrap();
        tarball.finish().unwrap();
        let mut archive = tar::Archive::new(File::open(path).unwrap());
        let entries: Vec<(String, u64)> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                (entry.path().unwrap().display().to_string(), entry.header().mtime().unwrap())
            })
            .collect();
        assert_eq!(
            entries,
            [("a", 7), ("a/b", 7), ("a/b/c", 7), ("a/b/d", 7)].map(|(path, time)| (path.to_owned(), time))
        );
    }
}
