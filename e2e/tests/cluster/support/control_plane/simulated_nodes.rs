//! Simulated nodes, which are only objects, and their simulated agents, which report like real ones
//! with a token for the node.

use crate::support::cluster::{apply, check, eventually, get, kubectl, run, timeout, try_run};
use crate::support::control_plane::tokens::kubectl_with;
use crate::support::scene::compiled;
use serde_json::{Value, json};

/// The transition time of all conditions.
const SINCE: &str = "2026-01-01T00:00:00Z";

/// Nodes without kubelet and agent, with the label `scene=<scene>`, which are deleted when this is
/// dropped. The controllers of Kubernetes are stopped until then: they would create a pod for an
/// agent on each node, and soon set the nodes NotReady.
pub(crate) struct SimulatedNodes {
    scene: &'static str,
    count: usize,
}

impl SimulatedNodes {
    /// Creates nodes that are Ready.
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

    /// Returns the simulated agent of a node, after the controller has written the state of the
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
        // Only an agent of this node may write its status.
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

/// The simulated agent of a simulated node.
pub(crate) struct SimulatedAgent {
    pub(crate) number: usize,
    pub(crate) node: String,
    token: String,
}

impl SimulatedAgent {
    /// Writes one status for each of these lists of networks. Compiled networks that are not listed
    /// are programmed.
    pub(crate) fn report(&self, networks: impl Iterator<Item = Value>) {
        let (generation, through) = (generation(&self.node), newest_compiled());
        let statuses = networks.map(|networks| {
            let status = json!({
                "observedGeneration": generation, "programmedThrough": through, "networks": networks,
                "conditions": [
                    condition("Ready", "AgentReady"),
                    condition("NetworksProgrammed", "AllProgrammed"),
                    condition("OVSConnected", "Connected"),
                ],
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

/// Returns the resource version of the list of compiled networks, which an agent reports after it
/// has programmed all of them.
fn newest_compiled() -> Value {
    let list: Value =
        serde_json::from_str(&kubectl(&["get", "--raw", "/apis/usnet.dev/v1alpha1/compilednetworks"])).unwrap();
    list["metadata"]["resourceVersion"].clone()
}

fn condition(kind: &str, reason: &str) -> Value {
    json!({"type": kind, "status": "True", "reason": reason, "message": "simulated", "lastTransitionTime": SINCE})
}
