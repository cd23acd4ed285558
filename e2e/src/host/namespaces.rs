//! Namespaces and mounts, which isolate a test bed from the machine and its nodes from each other.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::testbed::folder::TestbedFolder;

/// The folders of which each node has its own writable copy, so programs can use their standard
/// paths.
pub const NODE_COPIES: [&str; 3] = ["/etc", "/opt", "/var"];

/// The folders with root filesystems and volumes of containers, which are not overlays, because not
/// every kernel allows an overlay on an overlay.
const NODE_FOLDERS: [(&str, &str); 2] = [("kubelet", "/var/lib/kubelet"), ("containerd", "/var/lib/containerd")];

/// Kernel settings that kubelet changes for the whole machine unless they have these values. Nodes
/// mount files with these values over them, so the machine keeps its own.
const KUBELET_SETTINGS: [(&str, &str); 6] = [
    ("vm/overcommit_memory", "1"),
    ("vm/panic_on_oom", "0"),
    ("kernel/panic", "10"),
    ("kernel/panic_on_oops", "1"),
    ("kernel/keys/root_maxkeys", "1000000"),
    ("kernel/keys/root_maxbytes", "25000000"),
];

#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    #[error("cannot create new namespaces ({0:?})")]
    Unshare(CloneFlags, #[source] Errno),
    #[error("cannot mount {what} on {target}")]
    Mount {
        what: String,
        target: PathBuf,
        #[source]
        source: Errno,
    },
    #[error("cannot prepare {path}")]
    Prepare {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot set the host name {0}")]
    HostName(String, #[source] Errno),
}

/// Enters new network, mount and IPC namespaces. This process is the first of a pid namespace.
pub fn enter_testbed() -> Result<(), NamespaceError> {
    let flags = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC;
    unshare(flags).map_err(|source| NamespaceError::Unshare(flags, source))?;
    propagate(MsFlags::MS_PRIVATE)?;
    mount_new("proc", Path::new("/proc"), None)?;
    mount_new("tmpfs", Path::new("/run"), Some("mode=755"))
}

/// Makes this process a node: enters new network, mount and UTS namespaces, with the node's folders
/// at their standard paths.
pub fn enter_node(folder: &TestbedFolder, name: &str) -> Result<(), NamespaceError> {
    let flags = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWUTS;
    unshare(flags).map_err(|source| NamespaceError::Unshare(flags, source))?;
    nix::unistd::sethostname(name).map_err(|source| NamespaceError::HostName(name.to_owned(), source))?;
    propagate(MsFlags::MS_PRIVATE)?;
    mount_new("tmpfs", Path::new("/run"), Some("mode=755"))?;
    // VPP has files with the same names here on each node.
    mount_new("tmpfs", Path::new("/dev/shm"), Some("mode=1777"))?;
    let node = folder.node(name);
    for top in NODE_COPIES {
        mount_copy(Path::new(top), &node.join(top.trim_start_matches('/')))?;
    }
    for (own, standard) in NODE_FOLDERS {
        bind_folder(&node.join(own), Path::new(standard))?;
    }
    mount_kubelet_settings(&node)?;
    // Volumes that a container mounts for others (mountPropagation) need shared mounts, as systemd
    // makes them on a real node.
    propagate(MsFlags::MS_SHARED)?;
    let forward = Path::new("/proc/sys/net/ipv4/ip_forward");
    fs::write(forward, "1").map_err(|source| NamespaceError::Prepare { path: forward.to_owned(), source })
}

fn propagate(kind: MsFlags) -> Result<(), NamespaceError> {
    mount(None::<&str>, "/", None::<&str>, kind | MsFlags::MS_REC, None::<&str>).map_err(|source| {
        NamespaceError::Mount { what: format!("propagation {kind:?}"), target: PathBuf::from("/"), source }
    })
}

fn mount_new(kind: &str, target: &Path, options: Option<&str>) -> Result<(), NamespaceError> {
    mount(Some(kind), target, Some(kind), MsFlags::empty(), options).map_err(|source| NamespaceError::Mount {
        what: kind.to_owned(),
        target: target.to_owned(),
        source,
    })
}

/// Mounts a writable layer in `layers` over `target`, so changes are visible only on the node.
fn mount_copy(target: &Path, layers: &Path) -> Result<(), NamespaceError> {
    let (upper, work) = (layers.join("upper"), layers.join("work"));
    create_folder(&upper)?;
    create_folder(&work)?;
    let options = format!("lowerdir={},upperdir={},workdir={}", target.display(), upper.display(), work.display());
    mount_new("overlay", target, Some(&options))
}

fn bind_folder(from: &Path, target: &Path) -> Result<(), NamespaceError> {
    create_folder(from)?;
    create_folder(target)?;
    bind(from, target)
}

fn mount_kubelet_settings(node: &Path) -> Result<(), NamespaceError> {
    let folder = node.join("sysctl");
    create_folder(&folder)?;
    for (setting, value) in KUBELET_SETTINGS {
        let file = folder.join(setting.replace('/', "."));
        fs::write(&file, format!("{value}\n"))
            .map_err(|source| NamespaceError::Prepare { path: file.clone(), source })?;
        bind(&file, &Path::new("/proc/sys").join(setting))?;
    }
    Ok(())
}

fn bind(from: &Path, target: &Path) -> Result<(), NamespaceError> {
    mount(Some(from), target, None::<&str>, MsFlags::MS_BIND, None::<&str>).map_err(|source| NamespaceError::Mount {
        what: from.display().to_string(),
        target: target.to_owned(),
        source,
    })
}

fn create_folder(path: &Path) -> Result<(), NamespaceError> {
    fs::create_dir_all(path).map_err(|source| NamespaceError::Prepare { path: path.to_owned(), source })
}
