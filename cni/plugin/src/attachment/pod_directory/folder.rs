//! The folders in which usnet mounts pods' directories.

use super::error::{PodDirectoryError, file_error};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Creates a folder and its missing parents.
pub(super) fn create_folder(path: &Path) -> Result<(), PodDirectoryError> {
    // All users may enter: the engine need not run as root.
    let created = DirBuilder::new().recursive(true).mode(0o755).create(path);
    created.map_err(|error| file_error("create", path, error))
}
