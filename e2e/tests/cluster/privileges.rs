//! What a stolen token of an agent is good for.

use crate::cluster::{kubectl, try_run};
use crate::scene::agent_pod;
use serde_json::json;

/// `kubectl` with the token of the agent of `node`, as its pod has it.
fn as_agent(node: &str, arguments: &[&str], input: &str) -> Result<String, String> {
    let name = agent_pod(node);
    let uid = kubectl(&["get", "pod", &name, "-n", "usnet-system", "-o", "jsonpath={.metadata.uid}"]);
    let token = kubectl(&[
        "create",
        "token",
        "usnet-agent",
        "-n",
        "usnet-system",
        "--bound-object-kind=Pod",
        "--bound-object-name",
        &name,
        "--bound-object-uid",
        &uid,
    ]);
    // An empty user in front of the token: else the client certificate of the kubeconfig would speak.
    let server = kubectl(&["config", "view", "--raw", "-o", "jsonpath={.clusters[0].cluster.server}"]);
    let mut words = vec![
        "--kubeconfig=/dev/null",
        "--insecure-skip-tls-verify",
        "--server",
        server.trim(),
        "--token",
        token.trim(),
    ];
    words.extend(arguments);
    try_run("kubectl", &words, input)
}

fn forbidden(arguments: &[&str], input: &str) {
    let answer = as_agent("node-a", arguments, input).expect_err(&format!("{arguments:?} was allowed"));
    assert!(answer.contains("Forbidden") || answer.contains("forbidden"), "{arguments:?}: {answer}");
}

/// Writes a status of a node state with nothing in it, as the agent of node-a.
fn write_status(node: &str) -> Result<String, String> {
    let state = json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNodeState", "metadata": {"name": node}, "status": {},
    });
    let apply =
        ["apply", "--server-side", "--subresource=status", "--field-manager=test", "--validate=false", "-f", "-"];
    as_agent("node-a", &apply, &state.to_string())
}

#[test]
fn an_agent_may_read_node_states_and_write_its_own_status() {
    let state = as_agent("node-a", &["get", "userspacenodestate", "node-a", "-o", "name"], "").unwrap();
    assert_eq!(state.trim(), "userspacenodestate.usnet.dev/node-a");
    write_status("node-a").unwrap();
}

#[test]
fn an_agent_may_not_write_the_status_of_another_node() {
    let answer = write_status("node-b").expect_err("the status of another node was written");
    assert!(answer.contains("own node only"), "{answer}");
}

#[test]
fn an_agent_may_not_create_delete_or_change_node_states() {
    let state = json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNodeState", "metadata": {"name": "node-z"}, "spec": {"networks": []},
    });
    forbidden(&["create", "--validate=false", "-f", "-"], &state.to_string());
    forbidden(&["delete", "usns", "node-a"], "");
    forbidden(&["patch", "usns", "node-a", "--type=merge", "-p", r#"{"spec":{"networks":[]}}"#], "");
}

#[test]
fn an_agent_may_not_touch_networks_secrets_nodes_or_pods() {
    forbidden(&["get", "secrets", "-A"], "");
    forbidden(&["get", "pods", "-A"], "");
    forbidden(&["patch", "node", "node-a", "--type=merge", "-p", r#"{"metadata":{"labels":{"x":"y"}}}"#], "");
    let pod = kubectl(&["get", "pods", "-n", "usnet-system", "-o", "jsonpath={.items[0].metadata.name}"]);
    forbidden(
        &["patch", "pod", &pod, "-n", "usnet-system", "--type=merge", "-p", r#"{"metadata":{"labels":{"x":"y"}}}"#],
        "",
    );
    forbidden(&["get", "userspacenetworks"], "");
    forbidden(&["get", "net-attach-def", "-A"], "");
}
