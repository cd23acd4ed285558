//! Hot plug: networks attached to running pods and detached from them, by Multus' daemon and its
//! controller for dynamic networks, which follows the pod's annotation.

mod controller;
mod daemon;
mod delegate;
mod ended_pods;
mod failures;
mod in_cluster;
mod port_types;
mod stand_in;

use crate::support::cluster::{check, eventually, get, kubectl, on_node, vsctl};
use crate::support::pods::{NODE, sleeping_pod, uid};
use crate::support::scene::Scene;
use crate::support::vpp;
use controller::Controller;
use daemon::{Daemon, Propagation};
use in_cluster::InCluster;
use serde_json::{Value, json};
use stand_in::{STATUS, text};
use usnet_e2e::kubernetes::images::names::TOOLS_IMAGE;

/// How often a controller tries.
const ATTEMPTS: usize = 4;
const NETWORKS: &str = "k8s.v1.cni.cncf.io/networks";

/// A scene with Multus' daemon and a controller on [`NODE`].
struct HotPlug {
    // Dropped in this order: first the pods and networks go.
    scene: Scene,
    controller: Controller,
    daemon: Option<Daemon>,
    in_cluster: InCluster,
}

impl HotPlug {
    /// None, with a line that says so, where Multus' daemon is not built.
    fn new(name: &str) -> Option<Self> {
        if !daemon::is_built() {
            return None;
        }
        let scene = Scene::new(name);
        let in_cluster = InCluster::new(name);
        let daemon = Daemon::start(&in_cluster, Propagation::Bidirectional);
        let controller = Controller::start(&in_cluster);
        Some(Self { scene, controller, daemon: Some(daemon), in_cluster })
    }

    /// Replaces the networks that a pod selects.
    fn select(&self, pod: &str, elements: &[Value]) {
        let annotation = format!("{NETWORKS}={}", json!(elements));
        kubectl(&["annotate", "--overwrite", "pod", pod, "-n", &self.scene.name, &annotation]);
    }

    /// Waits until the pod has these interfaces and no other, as the controller says.
    #[track_caller]
    fn await_status(&self, pod: &str, interfaces: &[&str]) -> Vec<Value> {
        eventually("the status of the pod's networks", || {
            let status = status(&self.scene, pod);
            let mut present: Vec<&str> = status.iter().map(|entry| text(&entry["interface"])).collect();
            present.sort_unstable();
            check(present == interfaces, format!("{status:?}\n{}\n{}", self.scene.events(pod), daemon::log()))?;
            Ok(status)
        })
    }

    /// Waits until the status has an interface, and returns its entry.
    #[track_caller]
    fn await_present(&self, pod: &str, interface: &str) -> Value {
        eventually("the interface is in the status", || {
            let status = status(&self.scene, pod);
            let entry = status.iter().find(|entry| entry["interface"] == interface);
            entry.cloned().ok_or_else(|| format!("{status:?}\n{}", daemon::log()))
        })
    }

    /// Waits until the status has no such interface.
    #[track_caller]
    fn await_absent(&self, pod: &str, interface: &str) {
        eventually("the interface leaves the status", || {
            let status = status(&self.scene, pod);
            check(status.iter().all(|entry| entry["interface"] != interface), format!("{status:?}"))
        });
    }

    /// Waits for the controller's event that an interface could not be added, and for the reason in
    /// the log of Multus' daemon.
    #[track_caller]
    fn await_refusal(&self, pod: &str, refused: &Value, reason: &[&str]) {
        let (network, interface) = (text(&refused["name"]), text(&refused["interface"]));
        let pod_name = format!("[{}/{pod}]", self.scene.name);
        self.scene.await_refusal(
            pod,
            &[&format!("pod {pod_name}: failed adding interface {interface} to network: {network}")],
        );
        let (pod, interface) = (format!("K8S_POD_NAME={pod};"), format!("IfName:\"{interface}\""));
        daemon::await_log(&[&["ADD finished Delegate request", &pod, &interface], reason].concat());
    }

    /// Replaces the daemon by one in a container with that setting.
    fn restart_daemon(&mut self, propagation: Propagation) {
        drop(self.daemon.take());
        self.daemon = Some(Daemon::start(&self.in_cluster, propagation));
    }

    /// Waits until the controller has tried so often that it stops, and rolled back each time.
    #[track_caller]
    fn await_attempts(&self, pod: &str, interface: &str) {
        eventually("each attempt is rolled back", || {
            let log = daemon::log();
            let is_it = |line: &&str| {
                line.contains(&format!("K8S_POD_NAME={pod};")) && line.contains(&format!("IfName:\"{interface}\""))
            };
            let rolled_back =
                log.lines().filter(is_it).filter(|line| line.contains("DEL finished Delegate request")).count();
            check(rolled_back >= ATTEMPTS, log)
        });
    }
}

/// The entries of the pod's `network-status` but that of `eth0`.
fn status(scene: &Scene, pod: &str) -> Vec<Value> {
    let pod = get(&["pod", pod, "-n", &scene.name]).unwrap();
    let status = pod["metadata"]["annotations"][STATUS].as_str().unwrap_or("[]");
    let mut status: Vec<Value> = serde_json::from_str(status).unwrap();
    status.retain(|entry| entry["default"] != true);
    status
}

/// Returns a network selection element of the annotation.
fn element(network: &str, interface: &str) -> Value {
    json!({"name": network, "interface": interface})
}

/// Returns a sleeping pod that has these interfaces from its start on.
fn plugged_pod(scene: &Scene, name: &str, elements: &[Value]) -> Value {
    sleeping_pod(scene, name, &json!(elements).to_string())
}

/// A pod of the test program, which serves the interfaces that it has at its start.
fn tools_pod(scene: &Scene, name: &str, elements: &[Value]) -> Value {
    let mut pod = plugged_pod(scene, name, elements);
    pod["spec"]["containers"][0]["image"] = json!(TOOLS_IMAGE);
    pod["spec"]["containers"][0].as_object_mut().unwrap().remove("command");
    pod
}

/// Returns what is left of an interface of a pod on its node: record, files in the volume, and
/// port.
fn remains(uid: &str, interface: &str) -> String {
    let script = format!(
        "grep -ls '{uid}' /var/lib/usnet/attachments/*.{interface}.json; \
         ls -d /var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~empty-dir/usnet/{interface}.* 2>/dev/null; \
         ovs-vsctl --bare --columns=external_ids list Port | grep '{uid}' | grep '{interface}'; true"
    );
    on_node(NODE, &["sh", "-c", &script])
}

/// Waits until nothing is left of an interface that was unplugged.
#[track_caller]
fn await_gone(scene: &Scene, pod: &str, interface: &str) {
    let uid = uid(scene, pod);
    eventually("nothing is left of the interface", || {
        check(remains(&uid, interface).is_empty(), remains(&uid, interface))
    });
}

/// Returns the number of ports of a network in its engine.
fn ports(engine: &str, network: &str) -> usize {
    if engine == "VPP" {
        return vpp::ports(NODE, network).unwrap().len();
    }
    let owned = format!("external_ids:usnet.dev/network={network}");
    vsctl(NODE, &["--bare", "--columns=_uuid", "find", "Port", &owned]).split_whitespace().count()
}
