//! Agents and controllers that are killed, and a second agent.

use super::fault::Recovery;
use crate::support::cluster::{apply, check, eventually, get, kubectl, on_node, try_run};
use crate::support::control_plane::controllers::{NAMESPACE, await_both, leader, lease, process, signal};
use crate::support::faults::programs::kill_agent;
use crate::support::pods::NODE;
use crate::support::scene::agent_pod;
use serde_json::{Value, json};
use std::time::Instant;

const SECOND: &str = "second-agent";

/// Kills the agent of the node.
pub(super) fn kill() -> Recovery {
    Recovery { ready: Some(kill_agent(NODE)), ..Recovery::default() }
}

/// Kills the leading controller.
pub(super) fn kill_controller() -> Recovery {
    let killed = Instant::now();
    signal("-KILL", &process(&leader()));
    // kubelet may start it again before the other one takes over; then it leads as before.
    let last = lease()["renewTime"].clone();
    eventually("a leader that renews the lease", || {
        let lease = lease();
        check(lease["renewTime"] != last, lease.to_string())
    });
    let ready = killed.elapsed();
    await_both();
    Recovery { ready: Some(ready), ..Recovery::default() }
}

/// Starts a second agent, which waits; ends the first one, so that the second takes over; and ends
/// the second one, so that the DaemonSet's does.
pub(super) fn start_second() -> Recovery {
    let first = agent_pod(NODE);
    let history = history();
    let second_agent = SecondAgent;
    apply(&second(&get(&["pod", &first, "-n", NAMESPACE]).unwrap()));
    await_log(SECOND, WAITS);
    let ended = Instant::now();
    kubectl(&["delete", "pod", &first, "-n", NAMESPACE]);
    await_log(SECOND, TAKES_OVER);
    let ready = ended.elapsed();
    let third = eventually("another agent of the DaemonSet", || {
        let pod = agent_pod(NODE);
        check(!pod.is_empty() && pod != first, pod.clone())?;
        Ok(pod)
    });
    await_log(&third, WAITS);
    drop(second_agent);
    await_log(&third, TAKES_OVER);
    assert_eq!(self::history(), history, "an agent changed something");
    Recovery { ready: Some(ready), ..Recovery::default() }
}

/// The pod of the second agent, which is gone when this is dropped.
struct SecondAgent;

impl Drop for SecondAgent {
    fn drop(&mut self) {
        if let Err(error) = try_run("kubectl", &["delete", "pod", SECOND, "-n", NAMESPACE], "") {
            eprintln!("{error}");
        }
    }
}

/// A pod with the same agent. Probes at an address of the node would be answered by the first one,
/// and kubelet does not admit a second pod with the same ports of the node.
fn second(first: &Value) -> Value {
    // What was added for the first one is added again.
    let is_own = |entry: &Value| !entry["name"].as_str().unwrap_or_default().starts_with("kube-api-access");
    let keep_own = |list: &mut Value| list.as_array_mut().unwrap().retain(is_own);
    let mut spec = first["spec"].clone();
    keep_own(&mut spec["volumes"]);
    let mut agent = spec["containers"].as_array().unwrap().iter().find(|one| one["name"] == "agent").unwrap().clone();
    keep_own(&mut agent["volumeMounts"]);
    for field in ["ports", "livenessProbe", "readinessProbe"] {
        agent.as_object_mut().unwrap().remove(field);
    }
    for field in ["affinity", "initContainers"] {
        spec.as_object_mut().unwrap().remove(field);
    }
    spec["containers"] = json!([agent]);
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": SECOND, "namespace": NAMESPACE}, "spec": spec})
}

/// Log lines of an agent while another one runs on the node, and after it has exited.
const WAITS: &str = "another agent runs on this node";
const TAKES_OVER: &str = "the other agent has ended";

fn await_log(pod: &str, words: &str) {
    eventually(&format!("{pod} says: {words}"), || {
        let log = try_run("kubectl", &["logs", pod, "-n", NAMESPACE, "-c", "agent"], "")?;
        check(log.contains(words), log)
    });
}

/// Returns the changes of agents on the node.
fn history() -> String {
    on_node(NODE, &["cat", "/var/lib/usnet/history.jsonl"])
}
