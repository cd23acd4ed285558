//! A mount of a pod's volume on which no link is followed.
//!
//! The flags of a mount can only be set once it exists, and are not propagated to its copies: an
//! engine in a container that sees `/run/usnet` with `mountPropagation: HostToContainer` would keep
//! a copy without them. Therefore the volume is bind-mounted on a staging folder first, its flags
//! are set there, and it is bind-mounted from there to the final path: a copy of a mount has its
//! flags from the start.

use super::error::{PodDirectoryError, file_error};
use nix::errno::Errno;
use nix::libc;
use nix::mount::{MntFlags, MsFlags, mount as mount_call, umount2};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A folder has one mount of usnet, and a few more at most after calls that were killed. This only
/// bounds the loop: a program that mounts there continuously must not keep DEL running.
const MOUNTS_PER_FOLDER_MAX: usize = 16;

/// Mounts the open directory `volume` on `path` by way of `staging`; both are folders, and
/// `staging` remains mounted.
pub(super) fn mount(volume: &File, staging: &Path, path: &Path) -> Result<(), PodDirectoryError> {
    // By its descriptor: the directory that was checked is mounted.
    let opened = PathBuf::from(format!("/proc/self/fd/{}", volume.as_raw_fd()));
    call("mount the pod's volume on", Some(&opened), staging, MsFlags::MS_BIND)?;
    call("set the flags of", None, staging, MsFlags::MS_BIND | MsFlags::MS_REMOUNT | flags())?;
    if !is_nosymfollow_set(staging).map_err(|error| file_error("read the mount options of", staging, error))? {
        return Err(PodDirectoryError::NosymfollowUnsupported);
    }
    // Otherwise a mount that is created below the volume would be propagated here, without the
    // flags.
    call("make private the mount of", None, staging, MsFlags::MS_PRIVATE)?;
    call("mount the pod's volume on", Some(staging), path, MsFlags::MS_BIND)
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

/// Linux before 5.10 silently ignores the flag.
fn is_nosymfollow_set(path: &Path) -> io::Result<bool> {
    let folder = OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW).open(path)?;
    let descriptor = fs::read_to_string(format!("/proc/thread-self/fdinfo/{}", folder.as_raw_fd()))?;
    let mounts = fs::read_to_string("/proc/thread-self/mountinfo")?;
    Ok(has_option(&descriptor, &mounts, "nosymfollow"))
}

/// Whether the mount of an open file has an option. Formats: proc_pid_fdinfo(5), and
/// proc_pid_mountinfo(5), where the first field is the mount's id and the sixth its options.
fn has_option(descriptor: &str, mounts: &str, option: &str) -> bool {
    let number = descriptor.lines().find_map(|line| line.strip_prefix("mnt_id:")).map(str::trim);
    let mount = mounts.lines().find(|line| line.split(' ').next() == number);
    let options = mount.and_then(|line| line.split(' ').nth(5)).unwrap_or_default();
    options.split(',').any(|shown| shown == option)
}

fn call(action: &'static str, source: Option<&Path>, target: &Path, flags: MsFlags) -> Result<(), PodDirectoryError> {
    const NONE: Option<&Path> = None;
    mount_call(source, target, NONE, flags, NONE).map_err(|error| file_error(action, target, error.into()))
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
mod tests {
    use super::has_option;

    #[test]
    fn an_option_is_that_of_the_files_own_mount() {
        let descriptor = "pos:\t0\nflags:\t012400000\nmnt_id:\t88\nino:\t7\n";
        let mounts = "87 43 254:0 /a /b rw,nosymfollow shared:1 - ext4 /dev/vda rw\n\
                      88 43 254:0 /a /c rw,nosuid shared:1 - ext4 /dev/vda rw,nosymfollow\n";
        assert!(has_option(descriptor, mounts, "nosuid"));
        assert!(!has_option(descriptor, mounts, "nosymfollow"));
        assert!(!has_option("", mounts, "rw"));
    }
}
