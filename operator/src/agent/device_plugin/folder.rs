//! The folders of devices on the node, which are mounted into the container of a pod that has the
//! device. The CNI plugin mounts a file system of the pod's own on it when the pod attaches, and
//! removes the folder when the pod is deleted.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use usnet_crds::DeviceId;
use usnet_crds::device::CONTAINER_FOLDER;
use usnet_dataplane::paths::NodePaths;

/// The subfolders are bind-mounted into containers one by one; no other process needs access.
const MODE: u32 = 0o700;

/// The folders of a node's devices.
#[derive(Debug, Clone)]
pub(super) struct DeviceFolders(PathBuf);

impl DeviceFolders {
    pub(super) fn new(paths: &NodePaths) -> Self {
        Self(paths.devices())
    }

    /// The folder that contains all of them.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The devices that have one: they are allocated to a pod that is not deleted yet.
    pub(super) fn in_use(&self) -> BTreeSet<DeviceId> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    /// Creates the folder of a device that is not in use, without what an earlier pod left there.
    /// Returns its path on the node, and in the container.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(super) fn create(&self, id: &DeviceId) -> io::Result<(PathBuf, PathBuf)> {
        let folder = self.0.join(id.to_string());
        match fs::remove_dir_all(&folder) {
            // A mount there belongs to an earlier pod, and is removed by the CNI plugin.
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ResourceBusy) => return Err(error),
            _ => {}
        }
        DirBuilder::new().recursive(true).mode(MODE).create(&self.0)?;
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
        let (folders, kept) = (DeviceFolders(temporary.path().join("devices")), temporary.path().join("kept"));
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
