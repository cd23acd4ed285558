//! The folder of a device: a separate file system while a pod is attached, so that all files of the
//! pod are removed with it, and no pod can exhaust the node's memory.

use super::error::{PodDirectoryError, file_error};
use super::mount;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Only kubelet, which mounts the folder into a container, needs access.
const MODE: u32 = 0o700;

/// Creates the folder and mounts a new file system in place of that of a previous pod.
pub(super) fn prepare(folder: &Path) -> Result<(), PodDirectoryError> {
    // kubelet keeps its allocations over a reboot; the folders are gone then.
    let created = DirBuilder::new().recursive(true).mode(MODE).create(folder);
    created.map_err(|error| file_error("create", folder, error))?;
    mount::unmount(folder)?;
    mount::mount_tmpfs(folder)
}

/// Removes the folder with its content.
pub(super) fn release(folder: &Path) -> Result<(), PodDirectoryError> {
    mount::unmount(folder)?;
    mount::remove_folder(folder)
}
