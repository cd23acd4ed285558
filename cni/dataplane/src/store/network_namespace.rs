//! The network namespace of an attachment: whether it still exists.
//!
//! A runtime keeps the namespace of a sandbox by a mount of the namespace on a file, and removes
//! both with the sandbox. Only evidence counts: where the folder is not visible, or mounts of the
//! node may not be, nothing is known.

use crate::model::attachment::Record;
use nix::sys::statfs::{NSFS_MAGIC, statfs};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether a network namespace exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The namespace exists, or another one that cannot be distinguished from it.
    Present,
    /// The namespace does not exist any more.
    Gone,
    /// This process cannot know.
    Unknown,
}

/// The inode of the network namespace at `path`; none if there is none.
pub fn inode(path: &Path) -> Option<u64> {
    let is_namespace = statfs(path).is_ok_and(|found| found.filesystem_type() == NSFS_MAGIC);
    is_namespace.then(|| fs::metadata(path).ok().map(|found| found.ino())).flatten()
}

/// Whether the network namespace of an attachment exists.
pub fn presence(record: &Record) -> Presence {
    let path = &record.network_namespace;
    let Some(folder) = path.parent().filter(|folder| folder.is_dir()) else { return Presence::Unknown };
    match (fs::metadata(path), inode(path), record.network_namespace_inode) {
        (Err(error), ..) if error.kind() == ErrorKind::NotFound => Presence::Gone,
        (Err(_), ..) => Presence::Unknown,
        // Another namespace was mounted there since.
        (Ok(_), Some(found), Some(attached)) if found != attached => Presence::Gone,
        (Ok(_), Some(_), _) => Presence::Present,
        // A process that does not see new mounts of the node sees this file for each namespace.
        (Ok(_), None, _) => match sees_new_mounts(folder) {
            Ok(true) => Presence::Gone,
            Ok(false) | Err(_) => Presence::Unknown,
        },
    }
}

/// Whether mounts that other processes of the node create in a folder appear here.
fn sees_new_mounts(folder: &Path) -> io::Result<bool> {
    let folder = folder.canonicalize()?;
    Ok(is_propagated(&folder, &fs::read_to_string("/proc/thread-self/mountinfo")?))
}

/// Format: proc_pid_mountinfo(5). The fifth field is the mount point; from the seventh on, up to
/// `-`, are those about propagation. Of several mounts at one point the last one is visible.
fn is_propagated(folder: &Path, mounts: &str) -> bool {
    let point = |line: &str| line.split(' ').nth(4).map(str::to_owned).unwrap_or_default();
    let above = mounts.lines().filter(|line| folder.starts_with(point(line)));
    let own = above.max_by_key(|line| point(line).len()).unwrap_or_default();
    let options = own.split(' ').skip(6).take_while(|field| *field != "-");
    options.into_iter().any(|field| field.starts_with("shared:") || field.starts_with("master:"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{network, record};

    const OWN: &str = "/proc/thread-self/ns/net";

    fn at(path: &Path, inode: Option<u64>) -> Presence {
        let record = record("c1", &network("blue"));
        presence(&Record { network_namespace: path.to_owned(), network_namespace_inode: inode, ..record })
    }

    #[test]
    fn a_namespace_is_present_while_its_path_has_its_inode() {
        let (own, inode) = (Path::new(OWN), inode(Path::new(OWN)).unwrap());
        assert_eq!(at(own, Some(inode)), Presence::Present);
        assert_eq!(at(own, None), Presence::Present, "the inode was not recorded");
        assert_eq!(at(own, Some(inode + 1)), Presence::Gone, "another one has the path");
    }

    #[test]
    fn a_path_is_gone_only_where_its_folder_is_visible() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(at(&folder.path().join("pod"), Some(1)), Presence::Gone);
        assert_eq!(at(&folder.path().join("netns/pod"), Some(1)), Presence::Unknown);
        assert_eq!(at(Path::new(""), Some(1)), Presence::Unknown);
    }

    #[test]
    fn a_plain_file_is_evidence_only_where_mounts_are_propagated() {
        let mounts = "40 1 0:1 / / rw shared:1 - ext4 /dev/vda rw\n\
                      41 40 0:2 / /run rw,nosuid master:2 - tmpfs tmpfs rw\n\
                      42 41 0:3 / /run/netns rw - tmpfs shared:x rw\n\
                      43 41 0:3 / /run/netns2 rw shared:9 - tmpfs tmpfs rw\n";
        let seen = |folder: &str| is_propagated(Path::new(folder), mounts);
        assert_eq!(
            (seen("/run"), seen("/run/netns"), seen("/run/netns/a"), seen("/run/netns2")),
            (true, false, false, true)
        );
        assert!(seen("/var"));
        let over = format!("{mounts}44 40 0:4 / /run rw - tmpfs tmpfs rw\n");
        assert!(!is_propagated(Path::new("/run"), &over), "the last mount at a point is the visible one");
    }
}
