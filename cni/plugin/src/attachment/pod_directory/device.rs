//! The folder of a device. From its allocation until the pod is detached it is a separate file
//! system, so that all files of the pod are removed with it, and no pod can exhaust the node's
//! memory.

use super::containers::{Mounted, mounted};
use super::error::{PodDirectoryError, file_error};
use super::folder::create_folder;
use super::lock::lock_mounts;
use super::mount;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use usnet_crds::DeviceId;
use usnet_dataplane::paths::NodePaths;

/// The permissions of the folder: only kubelet, which mounts it into a container, needs access.
const MODE: u32 = 0o700;

/// Mounts a new file system on the folder of a device that kubelet is allocating to a pod, before
/// the containers get the folder. Files that an earlier pod left there are removed.
pub fn allocate(paths: &NodePaths, device: &DeviceId) -> Result<(), PodDirectoryError> {
    let (mounts, folder) = (paths.ports(), paths.devices().join(device.to_string()));
    create_folder(&mounts)?;
    let _lock = lock_mounts(&mounts, None, Some(&folder))?;
    create(&folder)?;
    mount::unmount(&folder)?;
    mount::mount_tmpfs(&folder)
}

/// Creates the folder and mounts a new file system in place of that of a previous pod, unless it
/// was mounted for this pod when the device was allocated.
pub(super) fn prepare(
    processes: &Path,
    folder: &Path,
    network_namespace: Option<u64>,
) -> Result<(), PodDirectoryError> {
    // kubelet keeps its allocations over a reboot, and the folders are gone afterwards.
    create(folder)?;
    if is_mounted(folder) && fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none()) {
        return Ok(());
    }
    match network_namespace.map_or(Mounted::Nothing, |namespace| mounted(processes, namespace, folder)) {
        Mounted::Nothing => {}
        // The pod's programs were faster than ADD, and the files there are theirs.
        Mounted::Current => return Ok(()),
        Mounted::Other => return Err(PodDirectoryError::OtherDeviceFolder(folder.to_owned())),
    }
    mount::unmount(folder)?;
    mount::mount_tmpfs(folder)
}

/// Removes the folder with its content.
pub(super) fn release(folder: &Path) -> Result<(), PodDirectoryError> {
    mount::remove(folder)
}

fn create(folder: &Path) -> Result<(), PodDirectoryError> {
    let created = DirBuilder::new().recursive(true).mode(MODE).create(folder);
    created.map_err(|error| file_error("create", folder, error))
}

/// Whether a separate file system is mounted on the folder.
fn is_mounted(folder: &Path) -> bool {
    let device = |path: &Path| fs::symlink_metadata(path).ok().map(|found| found.dev());
    folder.parent().is_some_and(|parent| device(folder) != device(parent))
}
