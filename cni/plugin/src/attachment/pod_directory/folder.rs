//! The folders in which usnet mounts pods' directories.

use super::error::{PodDirectoryError, file_error};
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// The permissions: all users may enter, because the engine need not run as root.
const MODE: u32 = 0o755;

/// Creates a folder and its missing parents.
pub(super) fn create_folder(path: &Path) -> Result<(), PodDirectoryError> {
    let created = DirBuilder::new().recursive(true).mode(MODE).create(path);
    created.map_err(|error| file_error("create", path, error))
}

/// Creates a folder in one that exists. Returns whether nothing was there.
pub(super) fn create_if_missing(path: &Path) -> Result<bool, PodDirectoryError> {
    match DirBuilder::new().mode(MODE).create(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(file_error("create", path, error)),
    }
}
