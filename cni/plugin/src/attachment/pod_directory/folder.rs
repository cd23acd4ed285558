//! The folders of usnet that pods' directories are mounted in.

use super::error::{PodDirectoryError, file_error};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Creates a folder and those above it, unless they exist.
pub(super) fn create_folder(path: &Path) -> Result<(), PodDirectoryError> {
    // The engine need not run as root.
    let created = DirBuilder::new().recursive(true).mode(0o755).create(path);
    created.map_err(|error| file_error("create", path, error))
}
