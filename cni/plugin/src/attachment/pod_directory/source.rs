//! The source of a pod's directory.

use super::error::{PodDirectoryError, file_error};
use super::volume::{LEGACY_VOLUME, VOLUME};
use nix::libc;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use usnet_crds::VolumeName;
use usnet_dataplane::attachment::PodUid;
use usnet_dataplane::paths::NodePaths;

/// The source of a pod's directory. Its parent folders belong to root, so that only kubelet and
/// usnet can replace it.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// The `emptyDir` volumes of the pod that have the names of usnet and of Userspace CNI. The
    /// first that exists is used.
    Volumes([PathBuf; 2]),
    /// The `emptyDir` volume of the pod that the network names.
    NamedVolume(PathBuf),
    Folder(PathBuf),
    /// The folder of a device that kubelet or a resource claim allocated to the pod. The content is
    /// removed with the pod.
    Device(PathBuf),
}

impl Source {
    pub(super) fn volumes(paths: &NodePaths, uid: &PodUid) -> Self {
        Self::Volumes([VOLUME, LEGACY_VOLUME].map(|name| empty_dirs(paths, uid).join(name)))
    }

    pub(super) fn named_volume(paths: &NodePaths, uid: &PodUid, name: &VolumeName) -> Self {
        Self::NamedVolume(empty_dirs(paths, uid).join(name.as_str()))
    }

    /// A folder of the node. It is the folder of a device if it is below the folder of devices or
    /// of resource claims.
    pub(super) fn folder(paths: &NodePaths, folder: PathBuf) -> Self {
        let is_device = [paths.devices(), paths.claim_folders()].iter().any(|parent| folder.starts_with(parent));
        if is_device { Self::Device(folder) } else { Self::Folder(folder) }
    }

    /// Whether the volume that is used is that of Userspace CNI.
    pub(super) fn is_legacy_volume(&self) -> bool {
        match self {
            Self::Volumes([volume, legacy]) => !is_there(volume) && is_there(legacy),
            Self::NamedVolume(_) | Self::Folder(_) | Self::Device(_) => false,
        }
    }

    /// Opens the folder. If no volume exists, the error names the first.
    pub(super) fn open(&self) -> Result<File, PodDirectoryError> {
        match self {
            Self::NamedVolume(folder) | Self::Folder(folder) | Self::Device(folder) => {
                open_directory(folder).map_err(|error| source_error(folder, error))
            }
            Self::Volumes([volume, legacy]) => match open_directory(volume) {
                Err(error) if error.kind() == ErrorKind::NotFound => match open_directory(legacy) {
                    Err(other) if other.kind() == ErrorKind::NotFound => Err(file_error("open", volume, error)),
                    other => other.map_err(|error| source_error(legacy, error)),
                },
                other => other.map_err(|error| source_error(volume, error)),
            },
        }
    }
}

fn empty_dirs(paths: &NodePaths, uid: &PodUid) -> PathBuf {
    paths.kubelet.join("pods").join(uid.as_str()).join("volumes/kubernetes.io~empty-dir")
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn open_directory(path: &Path) -> io::Result<File> {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn source_error(path: &Path, error: io::Error) -> PodDirectoryError {
    match error.kind() {
        ErrorKind::NotADirectory => PodDirectoryError::NotADirectory(path.to_owned()),
        _ => file_error("open", path, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_folder_is_opened_and_a_link_to_one_is_not() {
        let temporary = tempfile::tempdir().unwrap();
        let (folder, link) = (temporary.path().join("folder"), temporary.path().join("link"));
        fs::create_dir(&folder).unwrap();
        symlink(&folder, &link).unwrap();
        assert!(Source::Folder(folder).open().is_ok());
        assert!(matches!(Source::Folder(link).open(), Err(PodDirectoryError::NotADirectory(_))));
    }
}
