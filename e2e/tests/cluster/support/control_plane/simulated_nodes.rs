//! Nodes that are objects alone, and what stands in for their agents: it reports as a real agent
//! does, with a token of that node.

use crate::support::cluster::{apply, check, eventually, get, kubectl, run, timeout, try_run};
use crate::support::control_plane::tokens::kubectl_with;
use crate::support::scene::compiled;
use serde_json::{Value, json};

/// The time of every condition.
const SINCE: &str = "2026-01-01T00:00:00Z";

/// Nodes without kubelet and agent, labelled `scene=<scene>`, gone when the test ends. Kubernetes'
/// own controllers are stopped meanwhile: they would give such nodes the pod of an agent, and soon
/// call them NotReady.
pub(crate) struct SimulatedNodes {
    scene: &'static str,
    count: usize,
}

impl SimulatedNodes {
    /// Nodes that are Ready.
    pub(crate) fn create(scene: &'static str, count: usize) -> Self {
        let nodes = Self { scene, count };
        run("component", &["stop", "kube-controller-manager"]);
        let conditions =
            json!([{"type": "Ready", "status": "True", "reason": "Simulated", "message": "there is no machine"}]);
        for number in 0..count {
            let metadata = json!({"name": nodes.name(number), "labels": {"scene": scene}});
            let status = json!({"conditions": conditions});
            apply(&json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}));
        }
        nodes
    }

    pub(crate) fn name(&self, number: usize) -> String {
        format!("{}-{number}", self.scene)
    }

    /// What stands in for the agent of a node, once the controller has written the state of the
    /// node and these networks.
    pub(crate) fn agent(&self, number: usize, networks: &[&str]) -> SimulatedAgent {
        let node = self.name(number);
        eventually(&format!("the state of {node}"), || {
            let state = get(&["usns", &node]).ok_or("not yet")?;
            check(state["spec"]["labels"]["scene"] == self.scene, state.to_string())
        });
        for network in networks {
            eventually("the compiled network", || check(compiled(network).is_some(), format!("no {network}")));
        }
        // Only an agent of that node may report.
        let bound = ["--bound-object-kind=Node", "--bound-object-name", &node];
        let token = kubectl(&[["create", "token", "usnet-agent", "-n", "usnet-system"].as_slice(), &bound].concat());
        SimulatedAgent { number, node, token: token.trim().to_owned() }
    }
}

impl Drop for SimulatedNodes {
    fn drop(&mut self) {
        let quiet = |program: &str, arguments: &[&str]| {
            if let Err(error) = try_run(program, arguments, "") {
                eprintln!("{error}");
            }
        };
        let label = format!("scene={}", self.scene);
        quiet("kubectl", &["delete", "nodes", "-l", &label, "--ignore-not-found", timeout()]);
        quiet("component", &["start", "kube-controller-manager"]);
        for number in 0..self.count {
            quiet("kubectl", &["wait", "--for=delete", &format!("usns/{}", self.name(number)), timeout()]);
        }
    }
}

/// Stands in for the agent of a simulated node.
pub(crate) struct SimulatedAgent {
    pub(crate) number: usize,
    pub(crate) node: String,
    token: String,
}

impl SimulatedAgent {
    /// Writes one status after another, each with the next of these lists of networks. Whatever is
    /// compiled by now and not listed is programmed.
    pub(crate) fn report(&self, networks: impl Iterator<Item = Value>) {
        let (generation, through) = (generation(&self.node), newest_compiled());
        let statuses = networks.map(|networks| {
            let status = json!({
                "observedGeneration": generation, "programmedThrough": through, "networks": networks,
                "conditions": [condition("Ready", "AllProgrammed"), condition("OVSConnected", "Connected")],
                "engines": [{"engine": "OVS", "version": "simulated", "epoch": 1}],
            });
            let metadata = json!({"name": self.node});
            json!({
                "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNodeState", "metadata": metadata, "status": status,
            })
        });
        let list = json!({"apiVersion": "v1", "kind": "List", "items": statuses.collect::<Vec<_>>()});
        let apply = [
            "apply",
            "--server-side",
            "--subresource=status",
            "--field-manager=usnet-agent",
            "--validate=false",
            "-f",
            "-",
        ];
        kubectl_with(&self.token, &apply, &list.to_string()).unwrap();
    }
}

fn generation(node: &str) -> Value {
    get(&["usns", node]).unwrap()["metadata"]["generation"].clone()
}

/// The version of the list of compiled networks, at which an agent that has all of them is.
fn newest_compiled() -> Value {
    let list: Value =
        serde_json::from_str(&kubectl(&["get", "--raw", "/apis/usnet.dev/v1alpha1/compilednetworks"])).unwrap();
    list["metadata"]["resourceVersion"].clone()
}

fn condition(kind: &str, reason: &str) -> Value {
    json!({"type": kind, "status": "True", "reason": reason, "message": "simulated", "lastTransitionTime": SINCE})
}
