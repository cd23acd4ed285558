//! The file systems that the containers of a pod have mounted as the folder of a device. A
//! container keeps the file system that was there when it was started: a later mount on the node
//! does not reach it.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use usnet_crds::device::CONTAINER_FOLDER;

/// The file system that running containers have mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mounted {
    /// No running container has the device.
    Nothing,
    /// The containers have the file system that is on the node's folder now.
    Current,
    /// A container has another file system, which the node no longer reaches.
    Other,
}

/// Reads the mounts of the processes in the pod's network namespace. `processes` is the node's
/// `/proc`; without the processes of the node in it, no container is found.
pub(super) fn mounted(processes: &Path, network_namespace: u64, folder: &Path) -> Mounted {
    let Some(device) = folder.file_name() else { return Mounted::Nothing };
    let point = Path::new(CONTAINER_FOLDER).join(device).display().to_string();
    let current = fs::metadata(folder).map(|found| found.dev()).ok();
    let mut found = Mounted::Nothing;
    for mounts in mounts_of_processes(processes, network_namespace) {
        match root_of_mount(&mounts, &point) {
            None => {}
            Some((device, "/")) if Some(device) == current => found = Mounted::Current,
            Some(_) => return Mounted::Other,
        }
    }
    found
}

/// Whether containers run that have the open folder mounted. They do not see what is mounted in it
/// from now on.
pub(super) fn are_running(processes: &Path, network_namespace: u64, folder: &File) -> bool {
    let Ok(path) = fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd())) else { return false };
    let Ok(device) = folder.metadata().map(|found| found.dev()) else { return false };
    mounts_of_processes(processes, network_namespace).any(|mounts| has_mounted(&mounts, device, &path))
}

/// Whether a folder of this device, which has this path on the node, is mounted.
fn has_mounted(mounts: &str, device: u64, path: &Path) -> bool {
    mounts.lines().filter_map(device_and_root).any(|(found, root)| {
        // A file system of its own is mounted as a whole; of others the path from their root is the
        // end of the path.
        let root = root.trim_start_matches('/');
        found == device && path.ends_with(root)
    })
}

/// The texts of proc_pid_mountinfo(5) of all processes in a network namespace.
fn mounts_of_processes(processes: &Path, network_namespace: u64) -> impl Iterator<Item = String> {
    let processes = fs::read_dir(processes).into_iter().flatten().flatten();
    processes.filter_map(move |process| {
        let process = process.path();
        // The entry is not a process, or the process has ended.
        let namespace = fs::metadata(process.join("ns/net")).ok()?;
        (namespace.ino() == network_namespace)
            .then(|| fs::read_to_string(process.join("mountinfo")).unwrap_or_default())
    })
}

/// The device number of the file system at a mount point, and the folder of it that is mounted. The
/// format is proc_pid_mountinfo(5). Of several mounts at one point the last one is visible.
fn root_of_mount<'a>(mounts: &'a str, point: &str) -> Option<(u64, &'a str)> {
    device_and_root(mounts.lines().rfind(|line| line.split(' ').nth(4) == Some(point))?)
}

fn device_and_root(line: &str) -> Option<(u64, &str)> {
    let mut fields = line.split(' ').skip(2);
    let (major, minor) = fields.next()?.split_once(':')?;
    Some((nix::libc::makedev(major.parse().ok()?, minor.parse().ok()?), fields.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_mount_at_the_point_is_what_a_container_sees() {
        let mounts = "40 1 8:1 / / rw - ext4 /dev/vda rw\n\
                      41 40 0:25 /usnet/devices/blue-3 /run/usnet.dev/blue-3 rw - tmpfs tmpfs rw\n\
                      42 40 0:77 / /run/usnet.dev/blue-4 rw - tmpfs usnet rw\n\
                      43 40 0:78 / /run/usnet.dev/blue-4 rw - tmpfs usnet rw\n";
        let device = |minor| nix::libc::makedev(0, minor);
        assert_eq!(root_of_mount(mounts, "/run/usnet.dev/blue-3"), Some((device(25), "/usnet/devices/blue-3")));
        assert_eq!(root_of_mount(mounts, "/run/usnet.dev/blue-4"), Some((device(78), "/")));
        assert_eq!(root_of_mount(mounts, "/run/usnet.dev/blue-5"), None);
    }

    #[test]
    fn a_container_has_a_volume_mounted_whose_path_ends_with_the_root_of_a_mount() {
        let path = Path::new("/var/lib/kubelet/pods/1/volumes/kubernetes.io~empty-dir/usnet");
        let device = |minor| nix::libc::makedev(8, minor);
        for (root, is_it) in [
            ("/lib/kubelet/pods/1/volumes/kubernetes.io~empty-dir/usnet", true),
            ("/lib/kubelet/pods/2/volumes/kubernetes.io~empty-dir/usnet", false),
            ("/lib/kubelet/pods/1/etc-hosts", false),
            ("/", true),
        ] {
            let mounts =
                format!("40 1 0:30 / / rw - overlay overlay rw\n41 40 8:1 {root} /run/usnet rw - ext4 /dev/sda rw\n");
            assert_eq!(has_mounted(&mounts, device(1), path), is_it, "{root}");
            assert!(!has_mounted(&mounts, device(2), path), "{root}");
        }
    }
}
