//! A mount of a pod's volume on which no link is followed.
//!
//! Flags are not propagated to the copies of a mount that exists: an engine in a container that
//! sees `/run/usnet` with `mountPropagation: HostToContainer` would keep a copy without them.
//! Therefore a mount has its flags before it is on its path. [`detached`] does this on Linux 5.14
//! or later. [`staged`] does it on older ones: there the end of a mount is part of it, for which
//! the kernel waits up to many milliseconds on a busy node.

mod detached;
mod propagation;
mod staged;

use super::error::{PodDirectoryError, file_error};
use nix::errno::Errno;
use nix::libc;
use nix::mount::{MntFlags, MsFlags, mount as mount_call, umount2};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

/// A folder has one mount of usnet, and a few more at most after calls that were killed. This only
/// bounds the loop: a program that mounts there continuously must not keep DEL running.
const MOUNTS_PER_FOLDER_MAX: usize = 16;

/// Mounts the open directory `volume` on `path`. `staging` is a folder that may be created for it
/// and is removed again.
///
/// # Errors
/// When it cannot be mounted, or the node would not see the mount.
pub(super) fn mount(volume: &File, staging: &Path, path: &Path) -> Result<(), PodDirectoryError> {
    propagation::check(path)?;
    if detached::mount(volume, path)? { Ok(()) } else { staged::mount(volume, staging, path) }
}

/// Mounts a new file system on `folder`, in which all users may create the few small files that a
/// pod and an engine need. Its size bounds what a pod can take of the node's memory: 1 MiB is far
/// more than sockets and descriptions need, and the 1,000 devices of a network use at most 1 GiB.
pub(super) fn mount_tmpfs(folder: &Path) -> Result<(), PodDirectoryError> {
    let (name, options) = ("usnet", "mode=0777,size=1m,nr_inodes=64");
    let mounted = mount_call(Some(name), folder, Some("tmpfs"), flags(), Some(options));
    mounted.map_err(|error| file_error("mount a file system on", folder, error.into()))
}

fn flags() -> MsFlags {
    // Linux 5.10; nix does not name it.
    let no_symlinks = MsFlags::from_bits_retain(libc::MS_NOSYMFOLLOW);
    MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | no_symlinks
}

/// Removes all mounts on `path`. It may have none, or not exist.
pub(super) fn unmount(path: &Path) -> Result<(), PodDirectoryError> {
    for _ in 0..MOUNTS_PER_FOLDER_MAX {
        match umount2(path, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW) {
            Ok(()) => {}
            // EINVAL: not a mount point.
            Err(Errno::EINVAL | Errno::ENOENT) => return Ok(()),
            Err(error) => return Err(file_error("unmount", path, error.into())),
        }
    }
    Err(file_error("unmount", path, Errno::EBUSY.into()))
}

/// Removes the folder of a mount. A folder with foreign files is kept.
pub(super) fn remove_folder(path: &Path) -> Result<(), PodDirectoryError> {
    match fs::remove_dir(path) {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) => {
            Err(file_error("remove", path, error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
