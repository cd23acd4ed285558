//! The folder of a device: a file system of its own for as long as a pod is attached, so that nothing stays of what the pod left there, and no pod
//! fills the node's memory.

use super::{PodDirectoryError, file_error, mount, remove_folder};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Only whoever binds a folder into a container goes there.
const MODE: u32 = 0o700;

/// Makes the folder and gives it a new file system in place of one that an earlier pod had.
pub(super) fn prepare(folder: &Path) -> Result<(), PodDirectoryError> {
    // Kubelet keeps what it gave to pods over a reboot; the folders are gone then.
    let made = DirBuilder::new().recursive(true).mode(MODE).create(folder);
    made.map_err(|error| file_error("create", folder, error))?;
    mount::unmount(folder)?;
    mount::mount_memory(folder)
}

/// Takes the folder away with all that is in it.
pub(super) fn release(folder: &Path) -> Result<(), PodDirectoryError> {
    mount::unmount(folder)?;
    remove_folder(folder)
}
