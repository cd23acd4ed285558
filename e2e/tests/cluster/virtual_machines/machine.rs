//! A pod as virt-launcher's: QEMU as user 107 on a port whose socket is in the volume
//! `hook-sidecar-sockets`.

use super::console::Console;
use super::monitor::{self, Monitor};
use crate::support::cluster::{apply, eventually, get};
use crate::support::pods::{in_pod, wait_running};
use crate::support::scene::Scene;
use crate::support::station;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// Named as KubeVirt names interfaces, by a hash of the network's name in the virtual machine.
pub(super) const INTERFACE: &str = "pod37a8eec1ce1";
/// The path of the volume in the container.
const FOLDER: &str = "/var/run/kubevirt-hooks";
/// The time between two pings of a guest, in seconds.
const INTERVAL: &str = "0.05";
const SCRIPT: &str = include_str!("qemu.sh");
/// The TCP port on which a QEMU waits for the guest of another.
const MIGRATION_PORT: u16 = 4444;

/// The settings of the guest in a pod.
#[derive(Clone, Copy)]
pub(super) struct Guest {
    /// The guest's MAC address, as `macAddress` in a virtual machine.
    pub(super) mac: &'static str,
    pub(super) address: &'static str,
    /// The address that it pings.
    pub(super) peer: &'static str,
    /// Queue pairs of QEMU's device; the network has one.
    pub(super) queues: usize,
}

/// A pod with a virtual machine.
pub(super) struct Machine<'a> {
    scene: &'a Scene,
    pub(super) node: &'static str,
    pub(super) console: Console,
}

impl<'a> Machine<'a> {
    /// Applies a pod for a guest, whose QEMU waits for [`Self::start`] and gets these options.
    pub(super) fn apply(
        scene: &'a Scene,
        name: &str,
        network: &str,
        node: &'static str,
        guest: Guest,
        options: &str,
    ) -> Self {
        Self::of(scene, name, node, &pod(scene, name, network, node, guest, options))
    }

    /// A pod whose QEMU uses a tap that others make in the pod's network namespace.
    pub(super) fn apply_on_tap(
        scene: &'a Scene,
        name: &str,
        network: &str,
        node: &'static str,
        guest: Guest,
        tap: &str,
    ) -> Self {
        let mut pod = pod(scene, name, network, node, guest, "");
        let container = &mut pod["spec"]["containers"][0];
        container["env"].as_array_mut().unwrap().retain(|variable| variable["name"] != "TAP");
        container["env"].as_array_mut().unwrap().push(json!({"name": "TAP", "value": tap}));
        // KubeVirt has a device plugin for it.
        let device = json!({"name": "tun", "mountPath": "/dev/net/tun"});
        container["volumeMounts"].as_array_mut().unwrap().push(device);
        let device = json!({"name": "tun", "hostPath": {"path": "/dev/net/tun", "type": "CharDevice"}});
        pod["spec"]["volumes"].as_array_mut().unwrap().push(device);
        Self::of(scene, name, node, &pod)
    }

    fn of(scene: &'a Scene, name: &str, node: &'static str, pod: &Value) -> Self {
        apply(pod);
        Self { scene, node, console: Console { namespace: scene.name.clone(), pod: name.to_owned() } }
    }

    /// Like that, for a QEMU that waits for the guest of another one.
    pub(super) fn apply_target(&self, name: &str, network: &str, node: &'static str, guest: Guest) -> Self {
        Self::apply(self.scene, name, network, node, guest, &format!("-incoming tcp:0.0.0.0:{MIGRATION_PORT}"))
    }

    /// Waits until the pod runs.
    #[track_caller]
    pub(super) fn await_pod(&self) {
        wait_running(self.scene, &self.console.pod);
    }

    /// Starts QEMU.
    #[track_caller]
    pub(super) fn start(&self) {
        in_pod(self.scene, &self.console.pod, &format!("touch {FOLDER}/start"));
    }

    /// Returns the time from the start of QEMU until the guest has booted.
    #[track_caller]
    pub(super) fn boot_time(&self) -> Duration {
        let (booted, _) = self.console.await_line("guest: boot ");
        let (started, _) = self.console.await_line("starts QEMU");
        Duration::try_from(booted.duration_since(started)).unwrap()
    }

    /// The socket of QEMU's monitor, as this program reaches it.
    pub(super) fn monitor_socket(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{FOLDER}/monitor.sock", self.process()))
    }

    /// The process of the pod's container, which is QEMU.
    pub(super) fn process(&self) -> String {
        station::process(&self.object())
    }

    /// QEMU's monitor.
    #[track_caller]
    pub(super) fn monitor(&self) -> Monitor {
        monitor::await_monitor(&self.monitor_socket())
    }

    /// Returns the address on which QEMU waits for the guest of another one.
    pub(super) fn migration_address(&self) -> String {
        format!("{}:{MIGRATION_PORT}", self.object()["status"]["podIP"].as_str().unwrap())
    }

    /// The guest runs, under the QEMU of the pod's start, and has booted so often under it.
    #[track_caller]
    pub(super) fn assert_untouched(&self, boots: usize) {
        assert_eq!(self.monitor().status(), "running");
        assert_eq!(self.console.boots(), boots, "{}", self.console.pod);
        assert_eq!(self.object()["status"]["containerStatuses"][0]["restartCount"], 0);
    }

    /// The description that the plugin wrote.
    pub(super) fn description(&self) -> Value {
        let text = in_pod(self.scene, &self.console.pod, &format!("cat {FOLDER}/{INTERFACE}.json"));
        serde_json::from_str(&text).unwrap()
    }

    /// Waits for an answer to a ping that the guest gets from now on.
    #[track_caller]
    pub(super) fn await_answers(&self) -> (Timestamp, u64) {
        let since = Timestamp::now();
        eventually("an answer to the guest's ping", || {
            let answers = self.console.answers();
            answers.into_iter().find(|(time, _)| *time > since).ok_or_else(|| format!("none at {}", self.console.pod))
        })
    }

    /// Deletes the pod.
    pub(super) fn delete(self) {
        self.scene.delete_pod(&self.console.pod);
    }

    fn object(&self) -> Value {
        get(&["pod", &self.console.pod, "-n", &self.scene.name]).unwrap()
    }
}

/// Returns a security context like that of virt-launcher, which meets the level restricted of Pod
/// Security.
fn pod(scene: &Scene, name: &str, network: &str, node: &str, guest: Guest, options: &str) -> Value {
    let networks = json!([{"name": network, "interface": INTERFACE, "mac": guest.mac}]);
    let append = format!("address={} peer={} interval={INTERVAL}", guest.address, guest.peer);
    let queues = guest.queues.to_string();
    let environment =
        [("INTERFACE", INTERFACE), ("QUEUES", &queues), ("APPEND", &append), ("OPTIONS", options), ("TAP", "")];
    let environment = environment.map(|(name, value)| json!({"name": name, "value": value}));
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": scene.name,
            "annotations": {"k8s.v1.cni.cncf.io/networks": networks.to_string()},
        },
        "spec": {
            "nodeName": node,
            "terminationGracePeriodSeconds": 1,
            "restartPolicy": "Never",
            "securityContext": {
                "runAsUser": 107, "runAsGroup": 107, "runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [{
                "name": "compute", "image": "virtual-machine:e2e", "imagePullPolicy": "Never",
                "command": ["busybox", "sh", "-c", SCRIPT],
                "env": environment,
                "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                "volumeMounts": [{"name": "hook-sidecar-sockets", "mountPath": FOLDER}],
            }],
            "volumes": [{"name": "hook-sidecar-sockets", "emptyDir": {}}],
        },
    })
}
