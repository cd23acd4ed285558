//! Replaces multus-dynamic-networks-controller: compares the networks that a running pod selects
//! with its `network-status`, lets Multus' daemon attach and detach the difference, and writes the
//! new status. Like the controller it handles one pod after the other, retries a few times, and
//! calls DEL for an interface that it could not attach.

use super::delegate::{self, Sandbox};
use super::{ATTEMPTS, NETWORKS};
use crate::support::cluster::{apply, get, try_run};
use crate::support::pods::NODE;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::BufReader;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

pub(super) const STATUS: &str = "k8s.v1.cni.cncf.io/network-status";

/// The stand-in, while this lives.
pub(super) struct StandIn {
    watch: Child,
    worker: Option<JoinHandle<()>>,
}

impl StandIn {
    pub(super) fn start() -> Self {
        let selector = format!("--field-selector=spec.nodeName={NODE},status.phase=Running");
        let mut watch = Command::new("kubectl")
            .args(["get", "pods", "--all-namespaces", "--watch", "-o", "json", &selector])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let changes = BufReader::new(watch.stdout.take().unwrap());
        let worker = thread::spawn(move || {
            for pod in serde_json::Deserializer::from_reader(changes).into_iter::<Value>().map_while(Result::ok) {
                if !Difference::of(&pod).is_empty() {
                    reconcile(text(&pod["metadata"]["namespace"]), text(&pod["metadata"]["name"]));
                }
            }
        });
        Self { watch, worker: Some(worker) }
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        let _ended = self.watch.kill();
        let _reaped = self.watch.wait();
        if let Some(worker) = self.worker.take() {
            let _joined = worker.join();
        }
    }
}

/// A network and an interface, as in an element of the annotation.
type Element = Value;

/// What is to be done for a pod.
#[derive(Debug, Default)]
struct Difference {
    attach: Vec<Element>,
    detach: Vec<Element>,
    status: Vec<Value>,
}

impl Difference {
    fn of(pod: &Value) -> Self {
        let annotation = |name: &str| pod["metadata"]["annotations"][name].as_str().unwrap_or_default();
        let list = |name| serde_json::from_str::<Vec<Value>>(annotation(name)).unwrap_or_default();
        let (selected, status) = (list(NETWORKS), list(STATUS));
        let namespace = text(&pod["metadata"]["namespace"]);
        let key = |element: &Element| {
            (format!("{namespace}/{}", text(&element["name"])), text(&element["interface"]).to_owned())
        };
        let present = |entry: &Value| (text(&entry["name"]).to_owned(), text(&entry["interface"]).to_owned());
        let attached: Vec<_> = status.iter().filter(|entry| entry["default"] != true).collect();
        let attach = selected.iter().filter(|element| !attached.iter().any(|entry| present(entry) == key(element)));
        let detach = attached.iter().filter(|entry| !selected.iter().any(|element| present(entry) == key(element)));
        let element = |entry: &&&Value| {
            let name = text(&entry["name"]).rsplit('/').next().unwrap_or_default();
            json!({"name": name, "interface": entry["interface"]})
        };
        Self { attach: attach.cloned().collect(), detach: detach.map(|entry| element(&entry)).collect(), status }
    }

    fn is_empty(&self) -> bool {
        self.attach.is_empty() && self.detach.is_empty()
    }
}

fn reconcile(namespace: &str, name: &str) {
    let mut definitions = BTreeMap::new();
    for _ in 0..ATTEMPTS {
        // What the watch has told may be older than what was done since.
        let Some(pod) = get(&["pod", name, "-n", namespace]) else { return };
        let Difference { attach, detach, mut status } = Difference::of(&pod);
        let Some(sandbox) = Sandbox::of(&pod) else { return };
        let mut call = |command, element: &Element| {
            let configuration = definitions.entry(text(&element["name"]).to_owned());
            let configuration = configuration.or_insert_with_key(|name| delegate::configuration(namespace, name));
            delegate::delegate(command, &pod, &sandbox, (element, configuration))
        };
        let mut failed = false;
        for element in &attach {
            match call("ADD", element) {
                Ok(result) => status.push(entry(namespace, element, &result)),
                Err(_logged_by_multus) => {
                    warn(&pod, element);
                    let _rolled_back = call("DEL", element);
                    failed = true;
                    break;
                }
            }
        }
        let detach = if failed { &[][..] } else { &detach };
        for element in detach {
            match call("DEL", element) {
                Ok(_) => status.retain(|entry| entry["interface"] != element["interface"]),
                Err(_logged_by_multus) => {
                    failed = true;
                }
            }
        }
        let written = format!("{STATUS}={}", json!(status));
        // The pod may be gone.
        let _written = try_run("kubectl", &["annotate", "--overwrite", "pod", name, "-n", namespace, &written], "");
        if !failed {
            return;
        }
    }
}

/// An entry of `network-status`, by the specification of the Network Plumbing Working Group.
fn entry(namespace: &str, element: &Element, result: &Value) -> Value {
    let in_sandbox = |interface: &&Value| !text(&interface["sandbox"]).is_empty();
    let interface = result["interfaces"].as_array().into_iter().flatten().find(in_sandbox).cloned().unwrap_or_default();
    let addresses = result["ips"].as_array().into_iter().flatten();
    let addresses: Vec<_> = addresses.map(|ip| text(&ip["address"]).split('/').next().unwrap_or_default()).collect();
    json!({
        "name": format!("{namespace}/{}", text(&element["name"])),
        "interface": interface["name"], "mac": interface["mac"], "ips": addresses, "dns": {},
    })
}

/// The controller's event, which has no reason.
fn warn(pod: &Value, element: &Element) {
    let metadata = &pod["metadata"];
    let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
    let (interface, network) = (text(&element["interface"]), text(&element["name"]));
    apply(&json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("{name}-{interface}"), "namespace": namespace},
        "type": "Warning", "reason": "FailedAddingInterface",
        "message": format!("pod [{namespace}/{name}]: failed adding interface {interface} to network: {network}"),
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": name, "uid": metadata["uid"]},
    }));
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
