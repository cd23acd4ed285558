//! A folder of the engine in a pod's directory, for the socket of an engine that cannot create it
//! there. It is mounted read-only before the pod's containers start, so that they see it; the
//! socket's own name is a link to the file in it, which stays valid when the engine creates the
//! socket again.
//!
//! The pod controls the directory: everything is done by descriptors, and no link is followed.

use super::error::{PodDirectoryError, file_error};
use super::mount::{Access, mount_on, unmount_open};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{FileStat, Mode, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, symlinkat, unlinkat};
use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// How a folder is opened, and never a link.
const FOLDER: OFlag = OFlag::O_PATH.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
/// A few mounts at most are on the folder, after calls that were killed.
const MOUNTS_MAX: usize = 16;

/// The name in the pod's directory of the folder of this port. Hidden: programs list the directory.
pub(super) fn name(port: &str) -> String {
    format!(".{port}")
}

/// Mounts `folder` as `name` of the pod's directory, and makes `file` a link to the file of that
/// name in it. `staging` is a folder that may be created for that and is removed again.
pub(super) fn mount(
    directory: &File,
    name: &str,
    (folder, staging): (&Path, &Path),
    file: &str,
) -> Result<(), PodDirectoryError> {
    let occupied = |action| {
        move |error: Errno| PodDirectoryError::PathOccupied { action, file: name.to_owned(), source: error.into() }
    };
    match mkdirat(directory, name, Mode::from_bits_truncate(0o755)) {
        Ok(()) | Err(Errno::EEXIST) => {}
        Err(error) => return Err(occupied("create")(error)),
    }
    let target = open_folder(directory, name).map_err(occupied("open"))?;
    if !is_same(&target, folder) {
        let source = OpenOptions::new().read(true).custom_flags(FOLDER.bits()).open(folder);
        let source = source.map_err(|error| file_error("open", folder, error))?;
        mount_on(&source, staging, (target.as_fd(), folder), Access::ReadOnly)?;
    }
    let link = format!("{name}/{file}");
    match unlinkat(directory, file, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => {}
        Err(error) => return Err(occupied("replace")(error)),
    }
    symlinkat(link.as_str(), directory, file).map_err(occupied("create"))
}

/// Whether `folder` is mounted as `name` of the pod's directory.
pub(super) fn is_mounted(directory: &File, name: &str, folder: &Path) -> bool {
    open_folder(directory, name).is_ok_and(|found| is_same(&found, folder))
}

/// Removes the mount and its folder, if they exist.
pub(super) fn unmount(directory: &File, name: &str) -> Result<(), PodDirectoryError> {
    let failed = |action| {
        move |error: Errno| PodDirectoryError::PathOccupied { action, file: name.to_owned(), source: error.into() }
    };
    for _ in 0..MOUNTS_MAX {
        match open_folder(directory, name) {
            Ok(opened) => {
                if !unmount_open(&descriptor(&opened)).map_err(failed("unmount"))? {
                    break;
                }
            }
            // The pod has replaced it, which it can only before it is mounted.
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => return Ok(()),
            Err(error) => return Err(failed("open")(error)),
        }
    }
    match unlinkat(directory, name, UnlinkatFlags::RemoveDir) {
        // With files of the pod it is removed with the pod.
        Ok(()) | Err(Errno::ENOENT | Errno::ENOTEMPTY) => Ok(()),
        Err(error) => Err(failed("remove")(error)),
    }
}

fn open_folder(directory: &File, name: &str) -> Result<OwnedFd, Errno> {
    openat(directory, name, FOLDER, Mode::empty())
}

fn descriptor(folder: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}

fn is_same(opened: &OwnedFd, folder: &Path) -> bool {
    let identity = |found: FileStat| (found.st_dev, found.st_ino);
    let one = fstatat(opened, "", AtFlags::AT_EMPTY_PATH).map(identity);
    let other = nix::sys::stat::lstat(folder).map(identity);
    matches!((one, other), (Ok(one), Ok(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::mount::{MsFlags, mount as mount_call};
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::{UnixListener, UnixStream};

    const NONE: Option<&str> = None;

    fn open(path: &Path) -> File {
        OpenOptions::new().read(true).custom_flags(nix::libc::O_PATH).open(path).unwrap()
    }

    fn staging(folder: &Path) -> PathBuf {
        folder.with_file_name("staging")
    }

    /// Runs a test in a mount namespace of its own, with a pod's directory and a folder of the
    /// engine.
    fn in_a_namespace(test: impl FnOnce(&Path, &Path) + Send + 'static) {
        let thread = std::thread::spawn(|| {
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).expect("a mount namespace; are you root?");
            mount_call(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).unwrap();
            let temporary = tempfile::tempdir().unwrap();
            let [volume, folder] = ["volume", "engine"].map(|name| temporary.path().join(name));
            [&volume, &folder].iter().for_each(|folder| fs::create_dir(folder).unwrap());
            test(&volume, &folder);
        });
        thread.join().unwrap();
    }

    #[test]
    fn the_pod_connects_by_the_name_of_its_socket_also_to_the_next_one_and_changes_neither() {
        in_a_namespace(|volume, folder| {
            let (directory, place) = (open(volume), folder.join("net1.sock"));
            let first = UnixListener::bind(&place).unwrap();
            // A former sandbox has left its socket.
            fs::write(volume.join("net1.sock"), "").unwrap();
            for _ in 0..2 {
                mount(&directory, ".vhu1", (folder, &staging(folder)), "net1.sock").unwrap();
                assert!(is_mounted(&directory, ".vhu1", folder));
            }
            assert!(UnixStream::connect(volume.join("net1.sock")).is_ok());
            assert!(fs::write(volume.join(".vhu1/other"), "").is_err(), "it is read-only");
            drop(first);
            fs::remove_file(&place).unwrap();
            let _second = UnixListener::bind(&place).unwrap();
            assert!(UnixStream::connect(volume.join("net1.sock")).is_ok());
            for _ in 0..2 {
                unmount(&directory, ".vhu1").unwrap();
            }
            assert!(!volume.join(".vhu1").exists() && place.exists());
        });
    }

    /// A plugin that a daemon calls in its container has other mounts than the container runtime.
    #[test]
    fn a_copy_of_the_mount_in_another_namespace_is_read_only_too() {
        in_a_namespace(|volume, folder| {
            let root = volume.parent().unwrap();
            mount_call(Some("tmpfs"), volume, Some("tmpfs"), MsFlags::empty(), NONE).unwrap();
            mount_call(NONE, volume, NONE, MsFlags::MS_SHARED, NONE).unwrap();
            let copy = root.join("copy");
            fs::create_dir(&copy).unwrap();
            mount_call(Some(volume), &copy, NONE, MsFlags::MS_BIND, NONE).unwrap();
            let _socket = UnixListener::bind(folder.join("net1.sock")).unwrap();
            mount(&open(volume), ".vhu1", (folder, &staging(folder)), "net1.sock").unwrap();
            assert!(UnixStream::connect(copy.join("net1.sock")).is_ok());
            let refused = fs::write(copy.join(".vhu1/other"), "").unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(nix::libc::EROFS));
        });
    }

    #[test]
    fn links_and_files_of_the_pod_are_not_followed() {
        in_a_namespace(|volume, folder| {
            let directory = open(volume);
            let elsewhere = volume.with_file_name("elsewhere");
            fs::create_dir(&elsewhere).unwrap();
            symlink(&elsewhere, volume.join(".vhu1")).unwrap();
            let refused = mount(&directory, ".vhu1", (folder, &staging(folder)), "net1.sock").unwrap_err();
            assert!(matches!(refused, PodDirectoryError::PathOccupied { .. }), "{refused}");
            unmount(&directory, ".vhu1").unwrap();
            assert!(elsewhere.exists() && volume.join(".vhu1").is_symlink());
            fs::remove_file(volume.join(".vhu1")).unwrap();
            fs::create_dir(volume.join("net1.sock")).unwrap();
            assert!(mount(&directory, ".vhu1", (folder, &staging(folder)), "net1.sock").is_err());
            unmount(&directory, ".vhu1").unwrap();
            assert!(!volume.join(".vhu1").exists());
        });
    }
}
