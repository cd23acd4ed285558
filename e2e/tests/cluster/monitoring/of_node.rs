//! What is wrong on a node, each until it is dropped.

use super::BROKEN;
use crate::support::cluster::{check, eventually, on_node, try_run, try_vsctl, vsctl};
use crate::support::collector::QuickCollector;
use crate::support::control_plane::controllers::agent_process;
use crate::support::direct_cni::DirectPods;
use crate::support::pods::NODE;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A file of [`BROKEN`] that is not at its place.
pub(super) struct Hidden(&'static str);

impl Hidden {
    pub(super) fn hide(path: &'static str) -> Self {
        let hidden = Self(path);
        on_node(BROKEN, &["mv", path, &format!("{path}.hidden")]);
        hidden
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Err(error) = try_run("on-node", &[BROKEN, "mv", &format!("{}.hidden", self.0), self.0], "") {
            eprintln!("{error}");
        }
    }
}

/// What a pod of [`BROKEN`] left, which cannot be collected because its IPAM plugin is gone.
pub(super) struct Garbage {
    plugin: Hidden,
    pods: DirectPods,
    collector: QuickCollector,
}

impl Garbage {
    /// Attaches a pod to a network with host-local, and ends it without DEL.
    pub(super) fn leave(namespace: &str, network: &str) -> Self {
        let pods = DirectPods::new(BROKEN, namespace);
        pods.create_volume(1);
        pods.call("ADD", network, 1).unwrap();
        pods.end_sandbox();
        let plugin = Hidden::hide("/opt/cni/bin/host-local");
        Self { plugin, pods, collector: QuickCollector::start(BROKEN) }
    }

    /// Brings the plugin back, and waits until all is collected.
    pub(super) fn collect(self) {
        let Self { plugin, pods, collector } = self;
        drop(plugin);
        eventually("the garbage is collected", || check(pods.remains().is_empty(), pods.remains()));
        drop(collector);
    }
}

/// The state folder of [`BROKEN`], which the agent cannot write, as on a disk with errors.
pub(super) struct ReadOnlyState(String);

impl ReadOnlyState {
    pub(super) fn begin() -> Self {
        let state = Self(agent_process(BROKEN));
        state.remount("ro").unwrap();
        state
    }

    /// In the container of the agent alone.
    fn remount(&self, mode: &str) -> Result<String, String> {
        let options = format!("remount,bind,{mode}");
        try_run("on-node", &[BROKEN, "mount", "--namespace", &self.0, "-o", &options, "/var/lib/usnet"], "")
    }
}

impl Drop for ReadOnlyState {
    fn drop(&mut self) {
        if let Err(error) = self.remount("rw") {
            eprintln!("{error}");
        }
    }
}

/// A program of [`NODE`] that sets a bridge of usnet as it wants it, again and again.
pub(super) struct OtherProgram {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl OtherProgram {
    pub(super) fn start(bridge: &'static str) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let is_ending = Arc::clone(&ends);
        let change = move || {
            while !is_ending.load(Ordering::Relaxed) {
                // The switch may be busy: the next time counts.
                let _changed = try_vsctl(NODE, &["--no-wait", "set", "Interface", bridge, "mtu_request=900"]);
                let _changed = try_vsctl(NODE, &["--no-wait", "set-fail-mode", bridge, "secure"]);
                thread::sleep(Duration::from_secs(2));
            }
        };
        Self { ends, thread: Some(thread::spawn(change)) }
    }
}

impl Drop for OtherProgram {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

/// Another bridge of [`NODE`] with a bond that has an interface with the name of a pod's port: Open
/// vSwitch refuses to create the port. A port of that name usnet would see, and not try.
pub(super) struct TakenPort;

const TAKER: &str = "br-taker";

impl TakenPort {
    pub(super) fn take(port: &str) -> Self {
        let taken = Self;
        let create = ["add-br", TAKER, "--", "add-bond", TAKER, "bond-taker", port, "other-taker"];
        vsctl(NODE, &[&["--no-wait", "del-port", port, "--"][..], &create].concat());
        taken
    }
}

impl Drop for TakenPort {
    fn drop(&mut self) {
        if let Err(error) = try_vsctl(NODE, &["--no-wait", "--if-exists", "del-br", TAKER]) {
            eprintln!("{error}");
        }
    }
}
