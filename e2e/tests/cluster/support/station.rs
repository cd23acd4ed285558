//! A running pod with a kernel interface `net1`, or a host: its address, and threads of this
//! program in its network namespace, for which nothing has to be installed there.

use crate::support::cluster::{get, on_node};
use crate::support::scene::Scene;
use crate::support::vpp;
use nix::sched::{CloneFlags, setns};
use serde_json::Value;
use std::fs::File;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

pub(crate) struct Station {
    pub(crate) name: String,
    pub(crate) node: String,
    pub(crate) address: String,
    namespace: PathBuf,
}

impl Station {
    /// Reads a running pod.
    pub(crate) fn of_pod(scene: &Scene, name: &str) -> Self {
        let pod = get(&["pod", name, "-n", &scene.name]).unwrap();
        let node = pod["spec"]["nodeName"].as_str().unwrap().to_owned();
        let namespace = format!("/proc/{}/ns/net", process(&pod)).into();
        Self { name: name.to_owned(), address: address(&pod), namespace, node }
    }

    /// Reads a node, with its internal address.
    pub(crate) fn of_node(name: &str) -> Self {
        let node = get(&["node", name]).unwrap();
        let addresses = node["status"]["addresses"].as_array().unwrap();
        let internal = addresses.iter().find(|address| address["type"] == "InternalIP").unwrap();
        let address = internal["address"].as_str().unwrap().to_owned();
        let namespace = format!("/proc/{}/ns/net", vpp::process(name)).into();
        Self { name: name.to_owned(), node: name.to_owned(), address, namespace }
    }

    /// Returns a host outside of the cluster.
    pub(crate) fn outside(name: &str, address: &str, namespace: PathBuf) -> Self {
        Self { name: name.to_owned(), node: "no node".to_owned(), address: address.to_owned(), namespace }
    }

    /// Runs a thread in the network namespace.
    pub(crate) fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        let namespace = File::open(&self.namespace).unwrap();
        thread::spawn(move || {
            // This changes only the namespace of this thread.
            setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
            work()
        })
    }
}

/// Returns the address of `net1` that Multus reported.
fn address(pod: &Value) -> String {
    let status = pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/network-status"].as_str().unwrap();
    let status: Value = serde_json::from_str(status).unwrap();
    let interface = status.as_array().unwrap().iter().find(|entry| entry["interface"] == "net1").unwrap();
    interface["ips"][0].as_str().unwrap().to_owned()
}

/// Returns the process of the pod's container.
pub(crate) fn process(pod: &Value) -> String {
    let node = pod["spec"]["nodeName"].as_str().unwrap();
    let container = pod["status"]["containerStatuses"][0]["containerID"].as_str().unwrap();
    let container = container.trim_start_matches("containerd://");
    let tasks = on_node(node, &["ctr", "--namespace=k8s.io", "tasks", "ls"]);
    let line = tasks.lines().find(|line| line.starts_with(container));
    let process = line.and_then(|line| line.split_whitespace().nth(1));
    process.unwrap_or_else(|| panic!("no task of container {container} in\n{tasks}")).to_owned()
}
