//! The file systems that the containers of a pod have mounted as the folder of a device. A
//! container keeps the file system that was there when it was started: a later mount on the node
//! does not reach it.

use std::fs;
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
    for process in fs::read_dir(processes).into_iter().flatten().flatten() {
        let process = process.path();
        // The entry is not a process, or the process has ended.
        let Ok(namespace) = fs::metadata(process.join("ns/net")) else { continue };
        if namespace.ino() != network_namespace {
            continue;
        }
        let mounts = fs::read_to_string(process.join("mountinfo")).unwrap_or_default();
        match root_of_mount(&mounts, &point) {
            None => {}
            Some((device, "/")) if Some(device) == current => found = Mounted::Current,
            Some(_) => return Mounted::Other,
        }
    }
    found
}

/// The device number of the file system at a mount point, and the folder of it that is mounted. The
/// format is proc_pid_mountinfo(5). Of several mounts at one point the last one is visible.
fn root_of_mount<'a>(mounts: &'a str, point: &str) -> Option<(u64, &'a str)> {
    let fields = |line: &'a str| line.split(' ').collect::<Vec<_>>();
    let line = mounts.lines().map(fields).rfind(|fields| fields.get(4).copied() == Some(point))?;
    let (major, minor) = line.get(2)?.split_once(':')?;
    Some((nix::libc::makedev(major.parse().ok()?, minor.parse().ok()?), line.get(3)?))
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
}
