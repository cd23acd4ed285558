//! An agent that never reports again, on a node that stays: networks that select the node cannot be
//! deleted regularly.

use crate::support::cluster::{check, condition, eventually, get, kubectl};
use crate::support::control_plane::simulated_nodes::SimulatedNodes;
use crate::support::scene::{Scene, compiled, wait_ready};
use serde_json::json;

const NETWORKS: [&str; 2] = ["silent-forced", "silent-left"];

/// Waits until the network says that it waits for this node and no other.
fn await_waiting_for(network: &str, node: &str) {
    eventually(&format!("{network} waits for {node}"), || {
        let object = get(&["usn", network]).ok_or("it is gone")?;
        let ready = condition(&object, "Ready").cloned().unwrap_or_default();
        let message = ready["message"].as_str().unwrap_or_default();
        check(ready["reason"] == "Terminating" && message.contains(node), object["status"].to_string())
    });
}

fn await_gone(network: &str) {
    eventually(&format!("{network} is gone"), || {
        check(get(&["usn", network]).is_none() && compiled(network).is_none(), "still there")
    });
}

#[test]
fn deletion_waits_for_an_agent_that_never_returns_and_names_its_node() {
    let scene = Scene::new("silent");
    let nodes = SimulatedNodes::create("silent", 2);
    for network in NETWORKS {
        scene.apply_network(network, &json!({"nodeSelector": {"matchLabels": {"scene": "silent"}}}));
    }
    let (lively, silent) = (nodes.agent(0, &NETWORKS), nodes.agent(1, &NETWORKS));
    for agent in [&lively, &silent] {
        agent.report(std::iter::once(json!([])));
    }
    NETWORKS.into_iter().for_each(wait_ready);

    for network in NETWORKS {
        kubectl(&["delete", "usn", network, "--wait=false"]);
        eventually("agents are told that it goes", || {
            let spec = compiled(network).ok_or("nothing is compiled")?;
            check(spec["phase"] == "Draining", spec.to_string())
        });
    }
    lively.report(std::iter::once(json!([])));
    for network in NETWORKS {
        await_waiting_for(network, &silent.node);
    }
    kubectl(&["annotate", "usn", "silent-forced", "usnet.dev/force-delete=silent-forced"]);
    await_gone("silent-forced");
    await_waiting_for("silent-left", &silent.node);
    // The node leaves the cluster, and the deletion no longer waits for it.
    kubectl(&["delete", "node", &silent.node]);
    await_gone("silent-left");
}
