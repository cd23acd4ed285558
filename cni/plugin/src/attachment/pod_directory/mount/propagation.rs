//! Whether the node sees the mounts of this process. A CNI plugin that is not called by the
//! container runtime itself may run in a container: the daemon of Multus calls it there, and the
//! manifest of the daemon has `mountPropagation: HostToContainer`. The engine would then see an
//! empty folder.

use super::super::error::{PodDirectoryError, file_error};
use rustix::fs::{AtFlags, StatxFlags, statx};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;

/// Bytes for the mounts of most nodes.
const MOUNTS_USUAL: usize = 16 << 10;

/// Checks that other mount namespaces than that of this process see a mount below an open folder,
/// which errors call `path`.
pub(super) fn check(folder: BorrowedFd<'_>, path: &Path) -> Result<(), PodDirectoryError> {
    if is_in_namespace_of_init() {
        return Ok(());
    }
    let mount = mount_of(folder).map_err(|error| file_error("read the mount options of", path, error))?;
    match mount.as_deref().map(Propagation::parse).unwrap_or_default().is_receiver_only() {
        true => Err(PodDirectoryError::NotPropagated(path.to_owned())),
        false => Ok(()),
    }
}

/// Whether this process has the mount namespace of init. This is the usual case, in which the
/// mounts of the node need not be read.
fn is_in_namespace_of_init() -> bool {
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt"));
    matches!((namespace("self"), namespace("1")), (Ok(own), Ok(init)) if own == init)
}

/// Whether a mount sends mounts below it to its peers, and receives mounts from another peer group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Propagation {
    sends: bool,
    receives: bool,
}

impl Propagation {
    /// Whether mounts are received and not sent. A private mount does neither: its namespace was
    /// separated on purpose, and the engine is in it.
    fn is_receiver_only(self) -> bool {
        self.receives && !self.sends
    }

    /// Parses the optional fields of a line of proc_pid_mountinfo(5).
    fn parse(mount: &str) -> Self {
        let optional = mount.split(' ').skip(6).take_while(|field| *field != "-");
        optional.fold(Self::default(), |found, field| Self {
            sends: found.sends || field.starts_with("shared:"),
            receives: found.receives || field.starts_with("master:"),
        })
    }
}

/// The line in proc_pid_mountinfo(5) of the mount that an open file is on.
pub(super) fn mount_of(file: BorrowedFd<'_>) -> io::Result<Option<String>> {
    let id = mount_id(file)?;
    // In few reads: the size of such a file is not known before.
    let mut mounts = String::with_capacity(MOUNTS_USUAL);
    File::open("/proc/thread-self/mountinfo")?.take(u64::MAX).read_to_string(&mut mounts)?;
    Ok(line_of(id, &mounts).map(str::to_owned))
}

/// The number of the mount that an open file is on.
fn mount_id(file: BorrowedFd<'_>) -> io::Result<u64> {
    let found = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?;
    if StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID) {
        return Ok(found.stx_mnt_id);
    }
    // Linux before 5.8. The format is proc_pid_fdinfo(5).
    let descriptor = fs::read_to_string(format!("/proc/thread-self/fdinfo/{}", file.as_raw_fd()))?;
    let number = descriptor.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
    number.ok_or_else(|| io::Error::from(ErrorKind::InvalidData))
}

/// The format is proc_pid_mountinfo(5), where the first field is the number of the mount.
fn line_of(id: u64, mounts: &str) -> Option<&str> {
    mounts.lines().find(|line| line.split(' ').next().and_then(|number| number.parse().ok()) == Some(id))
}

#[cfg(test)]
mod tests {
    use super::{Propagation, line_of};

    #[test]
    fn a_line_is_that_of_the_files_own_mount() {
        let mounts = "87 43 254:0 /a /b rw,nosymfollow shared:1 - ext4 /dev/vda rw\n\
                      88 43 254:0 /a /c rw,nosuid shared:1 - ext4 /dev/vda rw,nosymfollow\n";
        assert!(line_of(88, mounts).unwrap().starts_with("88 43 254:0 /a /c rw,nosuid "));
        assert_eq!(line_of(8, mounts), None);
    }

    #[test]
    fn only_a_mount_that_receives_and_does_not_send_hides_mounts_from_the_node() {
        let with = |optional: &str| Propagation::parse(&format!("88 43 0:25 / /run rw {optional}- tmpfs shared:1 rw"));
        for (optional, is_receiver_only) in [
            ("", false),
            ("shared:7 ", false),
            ("master:7 ", true),
            ("shared:9 master:7 ", false),
            ("master:7 propagate_from:2 ", true),
            ("unbindable ", false),
        ] {
            assert_eq!(with(optional).is_receiver_only(), is_receiver_only, "{optional:?}");
        }
    }
}
