//! Control groups of a test bed's containers: `/<testbed id>/<node>` in every hierarchy. They
//! outlive the processes in them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The controllers that kubelet needs on a machine with cgroup v2.
const CONTROLLERS: &str = "+cpuset +cpu +io +memory +hugetlb +pids";

/// Why a control group could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up the control group {path}")]
pub struct CgroupError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

/// The `cgroupRoot` of a node's kubelet.
#[must_use]
pub fn node_root(testbed: &str, node: &str) -> String {
    format!("/{testbed}/{node}")
}

/// Creates the control groups of one node.
pub fn create(testbed: &str, node: &str) -> Result<(), CgroupError> {
    for hierarchy in hierarchies() {
        let testbed_group = hierarchy.join(testbed);
        for group in [testbed_group.clone(), testbed_group.join(node)] {
            fs::create_dir_all(&group).map_err(|source| CgroupError { path: group.clone(), source })?;
            inherit_cpus(&group).map_err(|source| CgroupError { path: group.clone(), source })?;
        }
        for group in [hierarchy.clone(), testbed_group.clone(), testbed_group.join(node)] {
            delegate_controllers(&group);
        }
    }
    Ok(())
}

/// Removes the control groups of a test bed. Returns false if some are left because processes in
/// them are alive.
#[must_use]
pub fn remove(testbed: &str) -> bool {
    hierarchies().iter().all(|hierarchy| remove_group(&hierarchy.join(testbed)))
}

/// Returns the mount points of the hierarchies: several with cgroup v1, one with v2.
fn hierarchies() -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounts.lines().filter_map(hierarchy_of_mount).collect()
}

/// Returns the mount point in a line of `/proc/self/mounts` if it is a cgroup hierarchy.
fn hierarchy_of_mount(line: &str) -> Option<PathBuf> {
    let mut fields = line.split(' ');
    let (_, target, kind) = (fields.next()?, fields.next()?, fields.next()?);
    matches!(kind, "cgroup" | "cgroup2").then(|| PathBuf::from(target))
}

/// Copies the CPUs of the parent. A new cpuset group of cgroup v1 has none, and no process can
/// enter it.
fn inherit_cpus(group: &Path) -> io::Result<()> {
    for file in ["cpuset.cpus", "cpuset.mems"] {
        let own = group.join(file);
        let is_v2 = group.join("cgroup.controllers").exists();
        if is_v2 || !own.exists() || !fs::read_to_string(&own)?.trim().is_empty() {
            continue;
        }
        if let Some(parent) = group.parent() {
            fs::write(&own, fs::read_to_string(parent.join(file))?)?;
        }
    }
    Ok(())
}

/// Enables the controllers for the children of a group of cgroup v2, one by one, because this
/// machine may not have all of them.
fn delegate_controllers(group: &Path) {
    let file = group.join("cgroup.subtree_control");
    if file.exists() {
        for controller in CONTROLLERS.split(' ') {
            // kubelet reports a controller that it misses.
            let _ = fs::write(&file, controller);
        }
    }
}

fn remove_group(group: &Path) -> bool {
    if let Ok(entries) = fs::read_dir(group) {
        for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            remove_group(&entry.path());
        }
    }
    match fs::remove_dir(group) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cgroup_mounts_are_hierarchies() {
        let v1 = "cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0";
        let v2 = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0";
        let other = "tmpfs /sys/fs/cgroup tmpfs rw,relatime,mode=755 0 0";
        assert_eq!(hierarchy_of_mount(v1), Some(PathBuf::from("/sys/fs/cgroup/cpu")));
        assert_eq!(hierarchy_of_mount(v2), Some(PathBuf::from("/sys/fs/cgroup")));
        assert_eq!(hierarchy_of_mount(other), None);
    }
}
