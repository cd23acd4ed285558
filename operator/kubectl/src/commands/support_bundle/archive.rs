//! The file: a compressed tar archive, readable only by its owner. It is written under a temporary
//! name and renamed.

use crate::error::Error;
use crate::private_file;
use flate2::Compression;
use flate2::write::GzEncoder;
use k8s_openapi::jiff::Timestamp;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tar::{Builder, Header};

/// The maximum size of one file in bytes, before compression.
const FILE_MAX: usize = 32 << 20;
/// The maximum size of all files in bytes, before compression.
const TOTAL_MAX: usize = 1 << 30;

pub(super) struct Archive {
    path: PathBuf,
    unfinished: PathBuf,
    folder: String,
    time: u64,
    total: usize,
    tar: Option<Builder<GzEncoder<File>>>,
}

impl Archive {
    /// Creates the archive at `path`, with all its files in `folder`.
    pub(super) fn create(path: &Path, folder: &str, time: Timestamp) -> Result<Self, Error> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".unfinished");
        let unfinished = path.with_file_name(name);
        let file = private_file::create(&unfinished).map_err(|error| unusable(path, &error))?;
        let tar = Some(Builder::new(GzEncoder::new(file, Compression::default())));
        let time = super::seconds_since_1970(time);
        Ok(Self { path: path.to_owned(), unfinished, folder: folder.to_owned(), time, total: 0, tar })
    }

    /// Adds a file. Returns whether the text was added without truncation.
    pub(super) fn add(&mut self, name: &str, text: &str) -> Result<bool, Error> {
        let room = FILE_MAX.min(TOTAL_MAX - self.total);
        let kept = text.get(..text.floor_char_boundary(room)).unwrap_or_default();
        self.append(name, kept)?;
        Ok(kept.len() == text.len())
    }

    fn append(&mut self, name: &str, text: &str) -> Result<(), Error> {
        self.total += text.len();
        let mut header = Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o600);
        header.set_mtime(self.time);
        let name = format!("{}/{name}", self.folder);
        let Some(tar) = self.tar.as_mut() else { return Ok(()) };
        tar.append_data(&mut header, name, text.as_bytes()).map_err(|error| unusable(&self.path, &error))
    }

    /// Adds `errors.txt` and closes the archive. Returns its size in bytes.
    pub(super) fn finish(mut self, errors: &[String]) -> Result<u64, Error> {
        let lines: String = errors.iter().map(|error| format!("{}\n", error.replace('\n', " "))).collect();
        self.append("errors.txt", &lines)?;
        let mut end = || -> io::Result<u64> {
            let Some(tar) = self.tar.take() else { return Ok(0) };
            let file = tar.into_inner()?.finish()?;
            let size = file.metadata()?.len();
            fs::rename(&self.unfinished, &self.path)?;
            Ok(size)
        };
        let finished = end();
        finished.map_err(|error| unusable(&self.path, &error))
    }
}

impl Drop for Archive {
    /// Removes an incomplete archive.
    fn drop(&mut self) {
        if self.tar.take().is_some() {
            let _removed = fs::remove_file(&self.unfinished);
        }
    }
}

fn unusable(path: &Path, error: &io::Error) -> Error {
    Error::File { path: path.to_owned(), problem: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_file_is_complete_when_it_appears_and_only_its_owner_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.tar.gz");
        let mut archive = Archive::create(&path, "usnet-support", Timestamp::UNIX_EPOCH).unwrap();
        assert!(archive.add("cluster/a.yaml", "a: 1\n").unwrap());
        assert!(!archive.add("large", &"x".repeat(FILE_MAX + 1)).unwrap(), "the text is truncated");
        assert!(!path.exists());
        let size = archive.finish(&["node b: no\nagent".to_owned()]).unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!((metadata.len(), metadata.permissions().mode() & 0o777), (size, 0o600));
        let mut read = tar::Archive::new(GzDecoder::new(File::open(&path).unwrap()));
        let mut files = Vec::new();
        for entry in read.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            files.push((entry.path().unwrap().display().to_string(), text.len(), text));
        }
        let names: Vec<_> = files.iter().map(|(name, size, _)| (name.as_str(), *size)).collect();
        let expected =
            [("usnet-support/cluster/a.yaml", 5), ("usnet-support/large", FILE_MAX), ("usnet-support/errors.txt", 17)];
        assert_eq!(names, expected);
        assert_eq!(files[2].2, "node b: no agent\n");
    }

    #[test]
    fn a_dropped_archive_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        drop(Archive::create(&folder.path().join("b.tar.gz"), "f", Timestamp::UNIX_EPOCH).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let error = Archive::create(Path::new("/nowhere/b.tar.gz"), "f", Timestamp::UNIX_EPOCH).err().unwrap();
        assert_eq!(error.exit_status(), 7, "{error}");
    }
}
