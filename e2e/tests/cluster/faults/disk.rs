//! The file systems of usnet's two folders, which are full or read-only.

use super::fault::Recovery;
use super::networks_of;
use crate::outages::components::replace_agent;
use crate::support::cluster::{apply, check, condition, eventually, get, kubectl, on_node, try_run};
use crate::support::control_plane::controllers::NAMESPACE;
use crate::support::pods::{NODE, remains, sleeping_pod, start, uid, wait_running};
use crate::support::scene::{Scene, agent_pod, wait_ready};
use std::time::Instant;
use usnet_crds::conditions::reason::STATE_NOT_WRITABLE;

const STATE: &str = "/var/lib/usnet";
const RUN: &str = "/run/usnet";

/// A disk that cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disk {
    /// Nothing fits into the state folder.
    StateFull,
    /// The state folder is read-only.
    StateReadOnly,
    /// Nothing fits into the run folder.
    RunFull,
    /// The run folder is read-only.
    RunReadOnly,
}

impl Disk {
    /// The name in the table.
    pub(super) fn name(self) -> String {
        let what = if self.is_full() { "full" } else { "read-only" };
        format!("`{}` {what}", self.folder())
    }

    fn folder(self) -> &'static str {
        match self {
            Self::StateFull | Self::StateReadOnly => STATE,
            Self::RunFull | Self::RunReadOnly => RUN,
        }
    }

    fn is_full(self) -> bool {
        matches!(self, Self::StateFull | Self::RunFull)
    }

    fn break_it(self) {
        let folder = self.folder();
        let script = match self.is_full() {
            true => format!("! dd if=/dev/zero of={folder}/.ballast bs=64k 2>&1"),
            false => format!("mount -o remount,ro {folder}"),
        };
        on_node(NODE, &["sh", "-c", &script]);
    }

    fn mend(self) -> Result<String, String> {
        let folder = self.folder();
        let script = match self.is_full() {
            true => format!("rm {folder}/.ballast"),
            false => format!("mount -o remount,rw {folder}"),
        };
        try_run("on-node", &[NODE, "sh", "-c", &script], "")
    }
}

/// Waits until the node is ready, or says that it cannot write.
fn await_node(status: &str) {
    eventually(&format!("the node says Ready={status}"), || {
        let state = get(&["usns", NODE]).unwrap();
        let ready = condition(&state, "Ready").cloned().unwrap_or_default();
        let is_meant = ready["status"] == status && (status == "True" || ready["reason"] == STATE_NOT_WRITABLE);
        check(is_meant, state["status"].to_string())
    });
}

/// A disk that is broken until this is dropped, if a test fails too.
struct Broken(Disk);

impl Broken {
    fn begin(disk: Disk) -> Self {
        let broken = Self(disk);
        disk.break_it();
        broken
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        if let Err(error) = self.0.mend() {
            eprintln!("{error}");
        }
    }
}

/// Breaks a disk; meanwhile one pod is deleted and another one made.
pub(super) fn fill(disk: Disk, scene: &Scene) -> Recovery {
    let [gone, new] = ["gone", "new"].map(|name| sleeping_pod(scene, name, "faults-vhost"));
    start(scene, &gone);
    let uid_of_gone = uid(scene, "gone");
    let begun = Instant::now();
    let broken = Broken::begin(disk);
    await_node("False");
    let networks = networks_of(None);
    // What the agent says of networks it writes into the run folder first.
    if disk.folder() == STATE {
        for network in &networks {
            kubectl(&["wait", "--for=condition=Ready=False", &format!("usn/{network}"), "--timeout=60s"]);
        }
    }
    let not_ready = Some(begun.elapsed());
    apply(&new);
    // A full run folder still has room for folders, so that pods attach.
    if disk != Disk::RunFull {
        scene.await_refusal("new", &["usnet["]);
    }
    // Not before: the record that goes makes room for another.
    kubectl(&["delete", "pod", "gone", "-n", &scene.name, "--grace-period=1", "--wait=false"]);

    let mended = Instant::now();
    drop(broken);
    await_node("True");
    networks.iter().for_each(|network| wait_ready(network));
    let ready = Some(mended.elapsed());
    wait_running(scene, "new");
    let ports = Some(mended.elapsed());
    scene.delete_pod("new");
    eventually("everything of the deleted pod is gone", || {
        check(remains(&uid_of_gone).is_empty(), remains(&uid_of_gone))
    });
    Recovery { not_ready, ports, packets: None, ready }
}

/// File systems of their own for usnet's folders of the node, as long as this lives.
pub(super) struct SmallDisks;

impl SmallDisks {
    /// Mounts them with what is in the folders, and lets the agent use them.
    pub(super) fn mount() -> Self {
        let script = format!(
            "set -e; for folder in {STATE} {RUN}; do
                kept=$(mktemp -d -p /run); cp -a $folder/. $kept
                mount -t tmpfs -o {OPTIONS} tmpfs $folder
                cp -a $kept/. $folder; rm -r $kept
             done"
        );
        on_node(NODE, &["sh", "-c", &script]);
        let disks = Self;
        replace_agent(NODE);
        disks
    }
}

const OPTIONS: &str = "size=8m,mode=700";

/// Mounts the disks again after a boot, as `/etc/fstab` would.
pub(super) fn mount_run_again() {
    let script = format!("! mountpoint -q {STATE} || {{ mkdir {RUN} && mount -t tmpfs -o {OPTIONS} tmpfs {RUN}; }}");
    on_node(NODE, &["sh", "-c", &script]);
}

impl Drop for SmallDisks {
    fn drop(&mut self) {
        let script = format!(
            "for folder in {STATE} {RUN}; do
                mount -o remount,rw $folder; rm -f $folder/.ballast
                kept=$(mktemp -d -p /run); cp -a $folder/. $kept
                umount -l $folder; mkdir -p $folder
                cp -a $kept/. $folder; rm -r $kept
             done"
        );
        if let Err(error) = try_run("on-node", &[NODE, "sh", "-c", &script], "") {
            eprintln!("{error}");
        }
        if std::thread::panicking() {
            // The agent still has the mounts.
            let agent = agent_pod(NODE);
            drop(try_run("kubectl", &["delete", "pod", &agent, "-n", NAMESPACE, "--wait=false"], ""));
        } else {
            replace_agent(NODE);
        }
    }
}
