//! A mount of a pod's volume on which no link is followed.
//!
//! Flags are not propagated to the copies of an existing mount: an engine in a container that sees
//! `/run/usnet` with `mountPropagation: HostToContainer` would keep a copy without them. Therefore
//! a mount has its flags before it is on its path. [`detached`] does this on Linux 5.14 or later.
//! [`staged`] does it on older kernels; it has to unmount the staging folder, for which the kernel
//! waits up to many milliseconds on a busy node.

mod detached;
mod propagation;
mod staged;

use super::error::{PodDirectoryError, file_error};
use nix::errno::Errno;
use nix::libc;
use nix::mount::{MntFlags, MsFlags, mount as mount_call, umount2};
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The maximum number of mounts that are removed from a folder. It has one mount of usnet, and a
/// few more at most after calls that were killed; this only bounds the loop, so that a program that
/// mounts there continuously does not keep DEL running.
const MOUNTS_PER_FOLDER_MAX: usize = 16;

/// What the users of a mount may do in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    ReadWrite,
    ReadOnly,
}

/// Mounts the open directory `volume` on `path`. `staging` is a folder that may be created for that
/// and is removed again.
pub(super) fn mount(volume: &File, staging: &Path, path: &Path) -> Result<(), PodDirectoryError> {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let target = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let target = target.map_err(|error| file_error("open", path, error))?;
    mount_on(volume, staging, (target.as_fd(), path), Access::ReadWrite)
}

/// Mounts an open directory on an open folder, which errors call by the path beside it.
pub(super) fn mount_on(
    source: &File,
    staging: &Path,
    (target, path): (BorrowedFd<'_>, &Path),
    access: Access,
) -> Result<(), PodDirectoryError> {
    propagation::check(target, path)?;
    if detached::mount(source, target, path, access)? {
        return Ok(());
    }
    staged::mount(source, staging, Path::new(&format!("/proc/self/fd/{}", target.as_raw_fd())), access)
}

/// Mounts a new file system on `folder`, in which all users may create the few small files that a
/// pod and an engine need. The size limits how much of the node's memory a pod can use: 1 MiB is
/// far more than sockets and descriptions need, and the 1,000 devices of a network use at most 1
/// GiB.
pub(super) fn mount_tmpfs(folder: &Path) -> Result<(), PodDirectoryError> {
    let (name, options) = ("usnet", "mode=0777,size=1m,nr_inodes=64");
    let mounted = mount_call(Some(name), folder, Some("tmpfs"), flags(), Some(options));
    mounted.map_err(|error| file_error("mount a file system on", folder, error.into()))
}

fn flags() -> MsFlags {
    // nix does not name this flag of Linux 5.10.
    let no_symlinks = MsFlags::from_bits_retain(libc::MS_NOSYMFOLLOW);
    MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | no_symlinks
}

/// Removes all mounts on `path`, which may have none or not exist.
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

/// Removes all mounts on a folder and the folder, which may not exist. A folder with foreign files
/// is kept.
pub(super) fn remove(path: &Path) -> Result<(), PodDirectoryError> {
    for _ in 0..MOUNTS_PER_FOLDER_MAX {
        match umount2(path, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW) {
            // EINVAL: not a mount point.
            Ok(()) | Err(Errno::EINVAL) => {}
            Err(Errno::ENOENT) => return Ok(()),
            Err(error) => return Err(file_error("unmount", path, error.into())),
        }
        match fs::remove_dir(path) {
            // It has another mount.
            Err(error) if error.kind() == ErrorKind::ResourceBusy => {}
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) => return Ok(()),
            removed => return removed.map_err(|error| file_error("remove", path, error)),
        }
    }
    Err(file_error("unmount", path, Errno::EBUSY.into()))
}

/// Removes the mount whose root is open under this path in `/proc`. Returns whether there was one.
pub(super) fn unmount_open(descriptor: &Path) -> Result<bool, Errno> {
    match umount2(descriptor, MntFlags::MNT_DETACH) {
        Ok(()) => Ok(true),
        // It is no root of a mount.
        Err(Errno::EINVAL) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the folder of a mount. A folder with foreign files is kept.
fn remove_folder(path: &Path) -> Result<(), PodDirectoryError> {
    match fs::remove_dir(path) {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) => {
            Err(file_error("remove", path, error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sched::{CloneFlags, unshare};
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    const NONE: Option<&str> = None;

    type Mount = fn(&File, &Path, &Path) -> Result<(), PodDirectoryError>;

    fn detached(volume: &File, _: &Path, path: &Path) -> Result<(), PodDirectoryError> {
        let target = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path).unwrap();
        assert!(detached::mount(volume, target.as_fd(), path, Access::ReadWrite)?, "this kernel is too old");
        Ok(())
    }

    fn staged(volume: &File, staging: &Path, path: &Path) -> Result<(), PodDirectoryError> {
        staged::mount(volume, staging, path, Access::ReadWrite)
    }

    /// The options of the mounts on a path in the namespace of this thread.
    fn options(path: &Path) -> Vec<String> {
        let observed = fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
        let fields = observed.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let of_path = fields.filter(|fields| Path::new(fields[4]) == path);
        of_path.map(|fields| fields[5].to_owned()).collect()
    }

    /// Runs a test in a separate mount namespace, in which mounts are shared as on a node.
    fn in_a_namespace(test: impl FnOnce(PathBuf) + Send + 'static) {
        let thread = std::thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNS).expect("a mount namespace; are you root?");
            mount_call(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).unwrap();
            let temporary = tempfile::tempdir().unwrap();
            mount_call(Some("tmpfs"), temporary.path(), Some("tmpfs"), MsFlags::empty(), NONE).unwrap();
            mount_call(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_SHARED, NONE).unwrap();
            test(temporary.path().to_owned());
            umount2(temporary.path(), MntFlags::MNT_DETACH).unwrap();
        });
        thread.join().unwrap();
    }

    /// Copies of the mount in other namespaces have the flags from the start, and what is mounted
    /// below the volume is not propagated to them.
    #[test]
    fn both_ways_mount_with_flags_that_every_copy_has() {
        for mount in [detached as Mount, staged] {
            in_a_namespace(move |root| {
                let [volume, ports, copies] = ["volume", "ports", "copies"].map(|name| root.join(name));
                let path = ports.join("pod");
                for folder in [&volume.join("inside"), &path, &copies] {
                    fs::create_dir_all(folder).unwrap();
                }
                symlink("/etc", volume.join("link")).unwrap();
                // A peer, as a container that sees the folder.
                mount_call(Some(&ports), &copies, NONE, MsFlags::MS_BIND, NONE).unwrap();

                let opened = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(&volume).unwrap();
                mount(&opened, &ports.join(".pod.new"), &path).unwrap();
                for path in [path.clone(), copies.join("pod")] {
                    let [options] = options(&path).try_into().unwrap();
                    for option in ["nosuid", "nodev", "noexec", "nosymfollow"] {
                        assert!(options.split(',').any(|present| present == option), "{options}");
                    }
                    assert_eq!(fs::read_dir(path.join("link")).unwrap_err().raw_os_error(), Some(libc::ELOOP));
                }
                assert!(!ports.join(".pod.new").exists());
                mount_call(Some("tmpfs"), &volume.join("inside"), Some("tmpfs"), MsFlags::empty(), NONE).unwrap();
                assert_eq!(options(&path.join("inside")), [""; 0]);
                unmount(&path).unwrap();
                assert_eq!((options(&path), options(&copies.join("pod"))), (Vec::new(), Vec::new()));
            });
        }
    }
}
