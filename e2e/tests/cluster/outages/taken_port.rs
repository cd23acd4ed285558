//! Another program of the node has the port of the agent's metrics.

use crate::support::cluster::{check, condition, eventually, get, kubectl, on_node};
use crate::support::control_plane::controllers::NAMESPACE;
use crate::support::kubectl_usnet::usnet;
use crate::support::pods::NODE;
use crate::support::scene::Scene;
use serde_json::{Value, json};

const PORT: &str = "28181";

/// The agent of the node, if there is exactly one.
fn agent() -> Result<Value, String> {
    let field = format!("--field-selector=spec.nodeName={NODE}");
    let pods = get(&["pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/component=agent", &field]).unwrap();
    match pods["items"].as_array().map(Vec::as_slice) {
        Some([pod]) => Ok(pod.clone()),
        _ => Err(format!("not one agent: {}", pods["items"])),
    }
}

fn restarts(pod: &Value) -> u64 {
    let statuses = pod["status"]["containerStatuses"].as_array();
    statuses.into_iter().flatten().filter_map(|status| status["restartCount"].as_u64()).sum()
}

/// What the status of the node says of metrics.
fn served() -> Option<Value> {
    condition(&get(&["usns", NODE]).unwrap(), "MetricsServed").cloned()
}

#[test]
fn an_agent_whose_port_is_taken_serves_networks_without_metrics() {
    let scene = Scene::new("taken-port");
    let old = agent().unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
    // It listens as soon as the agent ends, and until its file is gone.
    let file = format!("/run/taken-port-{}", std::process::id());
    let listen = format!(
        "touch {file}; (while [ -e {file} ]; do timeout 5 busybox nc -l -p {PORT} </dev/null || sleep 0.02; done) >/dev/null 2>&1 &"
    );
    on_node(NODE, &["sh", "-c", &listen]);
    kubectl(&[
        "delete",
        "pod",
        "-n",
        NAMESPACE,
        "--grace-period=1",
        agent().unwrap()["metadata"]["name"].as_str().unwrap(),
    ]);

    let message = eventually("the node says that metrics are not served", || {
        let served = served().ok_or("nothing is said")?;
        check(served["status"] == "False" && served["reason"] == "AddressTaken", served.to_string())?;
        Ok(served["message"].as_str().unwrap_or_default().to_owned())
    });
    assert!(message.contains(&format!("127.0.0.1:{PORT}")), "{message}");
    // Networks are served, and the probes of the agent answered.
    scene.network("taken-port", &json!({}));
    let ready = eventually("the new agent is ready", || {
        let pod = agent()?;
        let is_ready = condition(&pod, "Ready").is_some_and(|ready| ready["status"] == "True");
        check(is_ready && pod["metadata"]["uid"] != old.as_str(), pod["status"].to_string())?;
        Ok(pod)
    });
    assert_eq!(restarts(&ready), 0, "{}", ready["status"]);
    let explained = usnet(&["explain", "node", NODE]);
    assert!(explained.stdout.contains("AddressTaken"), "{explained:?}");

    on_node(NODE, &["rm", &file]);
    eventually("metrics are served", || check(served().is_none(), format!("{:?}", served())));
    eventually("and are there", || crate::support::control_plane::controllers::scrape(NODE, "127.0.0.1").map(drop));
    assert_eq!(restarts(&agent().unwrap()), 0);
}

/// A scheduler must not count a port that is of the loopback device.
#[test]
fn a_pod_of_the_nodes_network_is_scheduled_beside_the_agent_with_its_port() {
    let declared = eventually("the agent of the node", agent);
    let ports: Vec<&Value> = declared["spec"]["containers"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|container| !container["ports"].is_null())
        .collect();
    assert!(ports.is_empty() || declared["spec"]["hostNetwork"] != true, "{ports:?}");
}
