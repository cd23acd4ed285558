//! Mounts with the system calls of Linux 5.12: the mount has its flags before it is on any path.

use super::super::error::{PodDirectoryError, file_error};
use super::Access;
use nix::errno::Errno;
use nix::libc;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// `struct mount_attr` of `linux/mount.h`.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// These numbers are in `linux/mount.h`; neither nix nor rustix names all of them.
const MOUNT_ATTR_RDONLY: u64 = 0x0000_0001;
const MOUNT_ATTR_NOSUID: u64 = 0x0000_0002;
const MOUNT_ATTR_NODEV: u64 = 0x0000_0004;
const MOUNT_ATTR_NOEXEC: u64 = 0x0000_0008;
/// The flag exists since Linux 5.14.
const MOUNT_ATTR_NOSYMFOLLOW: u64 = 0x0020_0000;

/// Mounts the open directory `source` on the open folder `target`, which errors call `path`.
/// Returns `false`, without a change, if the kernel does not have these system calls or a seccomp
/// filter rejects them.
pub(super) fn mount(
    source: &File,
    target: BorrowedFd<'_>,
    path: &Path,
    access: Access,
) -> Result<bool, PodDirectoryError> {
    let failed = |error| file_error("mount a folder on", path, error);
    let empty_path = OpenTreeFlags::AT_EMPTY_PATH;
    let clone = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | empty_path;
    let tree = match open_tree(source, "", clone) {
        Ok(tree) => tree,
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => return Ok(false),
        Err(error) => return Err(failed(error.into())),
    };
    match set_attributes(&tree, access) {
        Ok(()) => {}
        // EINVAL: Linux before 5.14 does not know one of the flags.
        Err(Errno::ENOSYS | Errno::EPERM | Errno::EINVAL) => return Ok(false),
        Err(error) => return Err(failed(error.into())),
    }
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    let moved = move_mount(&tree, "", target, "", flags);
    moved.map(|()| true).map_err(|error| failed(error.into()))
}

/// Sets the flags, and makes the mount private: a mount that is created below the volume would
/// otherwise be propagated here without the flags.
fn set_attributes(tree: &OwnedFd, access: Access) -> Result<(), Errno> {
    let read_only = match access {
        Access::ReadWrite => 0,
        Access::ReadOnly => MOUNT_ATTR_RDONLY,
    };
    let attributes = MountAttributes {
        set: read_only | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOSYMFOLLOW,
        clear: 0,
        propagation: libc::MS_PRIVATE,
        user_namespace: 0,
    };
    // SAFETY: The descriptor is open, the path is a constant, and the kernel reads as many bytes of
    // the attributes as are passed to it, during the call.
    #[expect(unsafe_code, reason = "no crate offers mount_setattr")]
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    Errno::result(result).map(drop)
}
