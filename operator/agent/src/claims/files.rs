//! The files of prepared claims: CDI spec and metadata (IO). Missing files are written again: a
//! container that restarts in its sandbox needs them, and kubelet does not call the driver then.

use super::{cdi, metadata};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use usnet_dataplane::attachment::ClaimUid;
use usnet_dataplane::claim_records::ClaimRecord;
use usnet_dataplane::paths::NodePaths;

/// Why a file cannot be written or removed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}", path.display())]
pub(super) struct Error {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl Error {
    fn new(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self { action, path: path.to_owned(), source }
    }
}

/// Writes the files of a claim.
pub(super) fn write(paths: &NodePaths, record: &ClaimRecord) -> Result<(), Error> {
    create_folder(&metadata::folder(paths, &record.uid))?;
    for request in requests(record) {
        // Written in place: a bind mount shows the file that it was made of, not its replacement.
        write_file(&metadata::path(paths, record, request), &metadata::content(record, request), false)?;
    }
    create_folder(&paths.cdi)?;
    write_file(&cdi::path(paths, &record.uid), &cdi::spec(paths, record), true)
}

/// Writes the files of a claim unless all of them exist. Returns whether one was missing.
pub(super) fn restore(paths: &NodePaths, record: &ClaimRecord) -> Result<bool, Error> {
    let metadata = requests(record).into_iter().map(|request| metadata::path(paths, record, request));
    let is_complete = metadata.chain([cdi::path(paths, &record.uid)]).all(|path| path.exists());
    if !is_complete {
        write(paths, record)?;
    }
    Ok(!is_complete)
}

/// Removes the files of a claim.
pub(super) fn remove(paths: &NodePaths, claim: &ClaimUid) -> Result<(), Error> {
    let spec = cdi::path(paths, claim);
    unless_missing(fs::remove_file(&spec)).map_err(|error| Error::new("remove", &spec, error))?;
    let folder = metadata::folder(paths, claim);
    unless_missing(fs::remove_dir_all(&folder)).map_err(|error| Error::new("remove", &folder, error))
}

fn unless_missing(result: io::Result<()>) -> io::Result<()> {
    result.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn requests(record: &ClaimRecord) -> BTreeSet<&str> {
    record.ports.iter().map(|port| port.request.as_str()).collect()
}

/// Creates a folder that any process may read: not all container runtimes run as root.
fn create_folder(folder: &Path) -> Result<(), Error> {
    let created = DirBuilder::new().recursive(true).mode(0o755).create(folder);
    created.map_err(|error| Error::new("create", folder, error))
}

fn write_file(path: &Path, content: &impl Serialize, is_replaced: bool) -> Result<(), Error> {
    let written = || {
        let text = serde_json::to_vec_pretty(content)?;
        // The temporary file is beside it, with a name that no runtime reads.
        let target = if is_replaced { path.with_extension("new") } else { path.to_owned() };
        fs::write(&target, text)?;
        fs::set_permissions(&target, fs::Permissions::from_mode(0o644))?;
        if is_replaced { fs::rename(&target, path) } else { Ok(()) }
    };
    written().map_err(|error| Error::new("write", path, error))
}

#[cfg(test)]
mod tests {
    use super::super::metadata::tests::record;
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn missing_files_are_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let (paths, record) = (NodePaths::below(folder.path()), record());
        write(&paths, &record).unwrap();
        let (spec, metadata) = (cdi::path(&paths, &record.uid), metadata::path(&paths, &record, "port"));
        let before = fs::read(&spec).unwrap();
        assert!(!restore(&paths, &record).unwrap());
        fs::remove_dir_all(&paths.cdi).unwrap();
        assert!(restore(&paths, &record).unwrap());
        assert_eq!(fs::read(&spec).unwrap(), before);
        fs::remove_file(&metadata).unwrap();
        assert!(restore(&paths, &record).unwrap() && metadata.exists());
        remove(&paths, &record.uid).unwrap();
        remove(&paths, &record.uid).unwrap();
        assert_eq!(fs::read_dir(&paths.cdi).unwrap().count(), 0);
        assert_eq!(fs::read_dir(paths.claim_metadata()).unwrap().count(), 0);
    }

    /// A container has the file mounted: one that is replaced would stay as it was there.
    #[test]
    fn metadata_is_written_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let (paths, record) = (NodePaths::below(folder.path()), record());
        let inode = || fs::metadata(metadata::path(&paths, &record, "port")).unwrap().ino();
        write(&paths, &record).unwrap();
        let before = inode();
        write(&paths, &record).unwrap();
        assert_eq!(inode(), before);
    }
}
