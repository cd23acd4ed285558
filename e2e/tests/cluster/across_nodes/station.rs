//! A pod with a kernel interface on a network: datagrams that this program sends and receives in
//! the pod's network namespace, so that nothing has to be installed in the pod.

use crate::support::cluster::{get, on_node};
use crate::support::pods::{sleeping_pod, start};
use crate::support::scene::Scene;
use nix::sched::{CloneFlags, setns};
use serde_json::{Value, json};
use std::fs::File;
use std::net::{Ipv4Addr, UdpSocket};
use std::thread::{self, JoinHandle};

/// A pod with one `Veth` interface.
pub(super) struct Station {
    /// The pod.
    pub(super) name: String,
    /// Its node.
    pub(super) node: &'static str,
    /// Its address on the network.
    pub(super) address: Ipv4Addr,
    process: String,
}

impl Station {
    /// Starts a pod on a node and a network, and reads its address.
    pub(super) fn start(scene: &Scene, name: &str, node: &'static str, network: &str) -> Self {
        let mut pod = sleeping_pod(scene, name, network);
        pod["spec"]["nodeName"] = json!(node);
        pod["spec"]["volumes"] = json!([]);
        pod["spec"]["containers"][0]["volumeMounts"] = json!([]);
        start(scene, &pod);
        let pod = get(&["pod", name, "-n", &scene.name]).unwrap();
        Self { name: name.to_owned(), node, address: address(&pod), process: process(node, &pod) }
    }

    /// Runs a thread in the pod's network namespace.
    pub(super) fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        let namespace = File::open(format!("/proc/{}/ns/net", self.process)).unwrap();
        thread::spawn(move || {
            // Of this thread alone.
            setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
            work()
        })
    }

    /// A socket of the pod.
    pub(super) fn socket(&self, port: u16) -> UdpSocket {
        self.run(move || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).unwrap()).join().unwrap()
    }
}

/// The address of `net1`, as Multus wrote it.
fn address(pod: &Value) -> Ipv4Addr {
    let status = pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/network-status"].as_str().unwrap();
    let status: Value = serde_json::from_str(status).unwrap();
    let interface = status.as_array().unwrap().iter().find(|entry| entry["interface"] == "net1").unwrap();
    interface["ips"][0].as_str().unwrap().parse().unwrap()
}

/// The process of the pod's container.
fn process(node: &str, pod: &Value) -> String {
    let container = pod["status"]["containerStatuses"][0]["containerID"].as_str().unwrap();
    let container = container.trim_start_matches("containerd://");
    let tasks = on_node(node, &["ctr", "--namespace=k8s.io", "tasks", "ls"]);
    let line = tasks.lines().find(|line| line.starts_with(container));
    let process = line.and_then(|line| line.split_whitespace().nth(1));
    process.unwrap_or_else(|| panic!("no task of container {container} in\n{tasks}")).to_owned()
}
