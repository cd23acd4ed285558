//! Mounts with the system calls of older kernels. The volume is bind-mounted on a staging folder
//! first, its flags are set there, and it is bind-mounted from there to the final path: a copy of a
//! mount has its flags from the start.

use super::super::error::{PodDirectoryError, file_error};
use super::propagation::mount_of;
use super::{Access, flags, remove_folder, unmount};
use nix::libc;
use nix::mount::{MsFlags, mount as mount_call};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Mounts the open directory `volume` on the folder `path` via the folder `staging`.
pub(super) fn mount(volume: &File, staging: &Path, path: &Path, access: Access) -> Result<(), PodDirectoryError> {
    // A call that was killed may have left its mount there.
    unmount(staging)?;
    let created = DirBuilder::new().recursive(true).mode(0o755).create(staging);
    created.map_err(|error| file_error("create", staging, error))?;
    let mounted = mount_via_staging(volume, staging, path, access);
    unmount(staging)?;
    remove_folder(staging)?;
    mounted
}

fn mount_via_staging(volume: &File, staging: &Path, path: &Path, access: Access) -> Result<(), PodDirectoryError> {
    // Mounted by the descriptor, so that it is the directory that was checked.
    let opened = PathBuf::from(format!("/proc/self/fd/{}", volume.as_raw_fd()));
    let read_only = match access {
        Access::ReadWrite => MsFlags::empty(),
        Access::ReadOnly => MsFlags::MS_RDONLY,
    };
    call("mount a folder on", Some(&opened), staging, MsFlags::MS_BIND)?;
    call("set the flags of", None, staging, MsFlags::MS_BIND | MsFlags::MS_REMOUNT | flags() | read_only)?;
    if !is_nosymfollow_set(staging).map_err(|error| file_error("read the mount options of", staging, error))? {
        return Err(PodDirectoryError::NosymfollowUnsupported);
    }
    // A mount that is created below the volume would otherwise be propagated here without the
    // flags.
    call("make private the mount of", None, staging, MsFlags::MS_PRIVATE)?;
    call("mount a folder on", Some(staging), path, MsFlags::MS_BIND)
}

/// Whether the kernel has set the flag, which Linux before 5.10 silently ignores.
fn is_nosymfollow_set(path: &Path) -> io::Result<bool> {
    let folder = OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW).open(path)?;
    Ok(mount_of(folder.as_fd())?.is_some_and(|mount| has_option(&mount, "nosymfollow")))
}

/// Whether a mount has an option, by its line in proc_pid_mountinfo(5), where the sixth field has
/// the options of the mount.
fn has_option(mount: &str, option: &str) -> bool {
    let options = mount.split(' ').nth(5).unwrap_or_default();
    options.split(',').any(|present| present == option)
}

fn call(action: &'static str, source: Option<&Path>, target: &Path, flags: MsFlags) -> Result<(), PodDirectoryError> {
    const NONE: Option<&Path> = None;
    mount_call(source, target, NONE, flags, NONE).map_err(|error| file_error(action, target, error.into()))
}

#[cfg(test)]
mod tests {
    use super::has_option;

    #[test]
    fn an_option_is_one_of_the_mount_and_not_of_its_file_system() {
        let mount = "88 43 254:0 /a /c rw,nosuid shared:1 - ext4 /dev/vda rw,nosymfollow";
        assert!(has_option(mount, "nosuid"));
        assert!(!has_option(mount, "nosymfollow"));
        assert!(!has_option("", "rw"));
    }
}
