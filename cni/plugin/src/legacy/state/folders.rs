//! The folders of the legacy plugin with sockets and files of a pod without a volume. kubelet
//! removes a volume.

use super::error::{LegacyStateError, file_error};
use nix::errno::Errno;
use nix::libc;
use nix::mount::{MntFlags, umount2};
use std::fs::{self, File, FileType, OpenOptions};
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use usnet_dataplane::attachment::{AttachmentId, PodUid};
use usnet_dataplane::legacy_annotation::short_id;
use usnet_dataplane::paths::NodePaths;

/// The folders of each engine for configurations without `sharedDir`.
const DEFAULT_FOLDERS: [&str; 3] = ["var/run/vpp", "usr/local/var/run/openvswitch", "var/lib/cni/usrspcni"];
/// The folder in which the legacy plugin mounted a pod's volume whose path was too long for a
/// socket.
const MOUNTS: &str = "var/lib/vhost_sockets";

/// The folders of one container.
#[derive(Debug)]
pub(super) struct LegacyFolders {
    /// The folders, which may not exist. Each is named after the container, and has only files of
    /// it.
    pub(super) folders: Vec<PathBuf>,
    /// A folder that containers share, in which names begin with the container.
    shared: Option<PathBuf>,
    mounts: PathBuf,
}

impl LegacyFolders {
    pub(super) fn new(paths: &NodePaths, shared_dir: Option<&Path>, id: &AttachmentId) -> Self {
        let default_folders = DEFAULT_FOLDERS.map(|folder| paths.legacy_root.join(folder));
        let above = shared_dir.map(Path::to_owned).into_iter().chain(default_folders);
        Self {
            folders: above.map(|folder| folder.join(short_id(id))).collect(),
            shared: None,
            mounts: paths.legacy_root.join(MOUNTS),
        }
    }

    /// The folders of a container whose socket is known.
    pub(super) fn of_socket(paths: &NodePaths, socket: Option<&Path>, id: &AttachmentId) -> Self {
        let folder = socket.and_then(Path::parent);
        let is_own = folder.and_then(Path::file_name).is_some_and(|name| *name == *short_id(id));
        let of_container = Self::new(paths, folder.filter(|_| is_own).and_then(Path::parent), id);
        Self { shared: folder.filter(|_| !is_own).map(Path::to_owned), ..of_container }
    }

    /// Removes the sockets and the file of these names, and each folder that is empty afterwards.
    pub(super) fn remove(&self, sockets: &[String], file: &str) -> Result<(), LegacyStateError> {
        for folder in self.folders.iter().chain(&self.shared) {
            // No link is followed: a pod that sees the parent folder could have replaced the folder
            // by a link.
            let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
            let Ok(opened) = OpenOptions::new().read(true).custom_flags(flags).open(folder) else { continue };
            for socket in sockets {
                remove_from(&opened, folder, socket, FileType::is_socket)?;
            }
            remove_from(&opened, folder, file, FileType::is_file)?;
            // A folder with files that are not owned by us is kept.
            if self.shared.as_ref() != Some(folder) {
                let _removed = fs::remove_dir(folder);
            }
        }
        Ok(())
    }

    pub(super) fn unmount(&self, pod: &PodUid) -> Result<(), LegacyStateError> {
        let path = self.mounts.join(pod.as_str());
        match umount2(&path, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW) {
            // EINVAL: not a mount point.
            Ok(()) | Err(Errno::EINVAL) => {
                let _removed = fs::remove_dir(&path);
                Ok(())
            }
            Err(Errno::ENOENT) => Ok(()),
            Err(error) => Err(file_error("unmount", &path, error.into())),
        }
    }
}

/// Removes a file of the expected type from the folder that was opened, by its descriptor.
fn remove_from(
    opened: &File,
    folder: &Path,
    name: &str,
    has_expected_type: impl Fn(&FileType) -> bool,
) -> Result<(), LegacyStateError> {
    let path = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd())).join(name);
    if !fs::symlink_metadata(&path).is_ok_and(|found| has_expected_type(&found.file_type())) {
        return Ok(());
    }
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(file_error("remove", &folder.join(name), error)),
        _ => Ok(()),
    }
}
