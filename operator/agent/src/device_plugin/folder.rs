//! The folders of devices on the node, which are mounted into the containers of the pod that has
//! the device. A folder gets a file system of its own when its device is allocated
//! ([`usnet_node::garbage::device_mounts`]); if that failed, the CNI plugin mounts it when the pod
//! attaches. The plugin removes the folder when the pod is deleted.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use usnet_common::display::ErrorChain;
use usnet_crds::DeviceId;
use usnet_crds::device::CONTAINER_FOLDER;
use usnet_dataplane::paths::NodePaths;
use usnet_node::garbage::device_mounts;

/// Only root: the subfolders are bind-mounted into containers one by one, and no other process
/// needs access.
const MODE: u32 = 0o700;

/// The folders of a node's devices.
#[derive(Debug, Clone)]
pub(super) struct DeviceFolders(NodePaths);

impl DeviceFolders {
    pub(super) fn new(paths: &NodePaths) -> Self {
        Self(paths.clone())
    }

    /// The parent folder of all devices' folders.
    pub(super) fn path(&self) -> PathBuf {
        self.0.devices()
    }

    /// The devices that have a folder: they are allocated to a pod that is not deleted yet.
    pub(super) fn in_use(&self) -> BTreeSet<DeviceId> {
        let entries = fs::read_dir(self.path()).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    /// Creates the folder of a device that is not in use, with a file system of its own and without
    /// what an earlier pod left there. Returns its paths on the node and in the container.
    pub(super) async fn prepare(&self, id: &DeviceId) -> io::Result<(PathBuf, PathBuf)> {
        let folder = self.create(id)?;
        // Not an error: in most cases the CNI plugin mounts it when the pod attaches.
        if let Err(error) = device_mounts::request(&self.0, id).await {
            tracing::warn!(device = %id, error = %ErrorChain(&error), "the folder of a device has no file system of its own yet");
        }
        Ok(folder)
    }

    fn create(&self, id: &DeviceId) -> io::Result<(PathBuf, PathBuf)> {
        let folder = self.path().join(id.to_string());
        match fs::remove_dir_all(&folder) {
            // A folder with a mount belongs to an earlier pod, and is removed by the CNI plugin.
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ResourceBusy) => return Err(error),
            _ => {}
        }
        DirBuilder::new().recursive(true).mode(MODE).create(self.path())?;
        match DirBuilder::new().mode(0o755).create(&folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => Ok((folder, Path::new(CONTAINER_FOLDER).join(id.to_string()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_folder_is_empty_when_a_device_is_allocated_again() {
        let temporary = tempfile::tempdir().unwrap();
        let (folders, kept) = (DeviceFolders::new(&NodePaths::below(temporary.path())), temporary.path().join("kept"));
        fs::write(&kept, "x").unwrap();
        let id: DeviceId = "blue-3".parse().unwrap();
        assert_eq!(folders.in_use(), [].into());
        let (folder, in_container) = folders.create(&id).unwrap();
        assert_eq!(in_container, Path::new("/run/usnet.dev/blue-3"));
        fs::create_dir(folder.join("left")).unwrap();
        symlink(&temporary, folder.join("link")).unwrap();
        fs::create_dir(folders.path().join("not a device")).unwrap();
        folders.create(&id).unwrap();
        assert_eq!((fs::read_dir(folder).unwrap().count(), kept.exists()), (0, true));
        assert_eq!(folders.in_use(), [id].into());
    }
}
