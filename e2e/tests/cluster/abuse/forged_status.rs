//! What an attacker can write with the token of one node's agent: the status of that node. What no
//! agent would write is refused by the CRD, and what is taken concerns that node and the networks
//! that it names.

use crate::abuse::threats::{FORGED, assert_unforged, controller_log};
use crate::outages::components::replace_agent;
use crate::support::cluster::{check, eventually, get, kubectl, timeout, vsctl};
use crate::support::control_plane::controllers::{StoppedProcesses, agent_process};
use crate::support::control_plane::tokens::RequestClient;
use crate::support::scene::{Scene, await_condition, wait_ready};
use serde_json::{Value, json};

const STOLEN: RequestClient = RequestClient::Agent("node-b");
/// The limits of the CRD.
const NETWORKS_MAX: usize = 512;
const MESSAGE_MAX: usize = 512;
const AFFECTED_PODS_MAX: usize = 100;
const POLICY_PODS_MAX: usize = 1024;
const COUNT_MAX: i64 = 100_000;
/// Most characters of a node's message in the status of a network, with what the controller writes
/// before it.
const REPORTED_MAX: usize = 2 * MESSAGE_MAX;

/// Writes that status of node-b; `dry_run` only asks whether it would be taken.
fn write(status: &Value, dry_run: bool) -> Result<String, String> {
    let state = json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNodeState", "metadata": {"name": "node-b"}, "status": status,
    });
    let mut arguments = vec!["apply", "--server-side", "--force-conflicts", "--subresource=status"];
    arguments.extend(["--field-manager=thief", "--validate=false", "-f", "-"]);
    arguments.extend(dry_run.then_some("--dry-run=server"));
    STOLEN.kubectl(&arguments, &state.to_string())
}

/// A report of a network with one part replaced.
fn report(part: &str, value: &Value) -> Value {
    let mut report =
        json!({"name": "any", "generation": 1, "state": "Failed", "reason": "Any", "message": "any", "attachments": 1});
    report[part] = value.clone();
    json!({"networks": [report]})
}

fn condition(part: &str, value: &Value) -> Value {
    let mut condition = json!({
        "type": "Ready", "status": "True", "reason": "Any", "message": "any", "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    condition[part] = value.clone();
    json!({"conditions": [condition]})
}

/// Returns this number of pods, each with one part replaced.
fn affected_pods(count: usize, part: &str, value: &Value) -> Value {
    let mut pod = json!({"pod": "any/pod", "uid": "any", "network": "any", "engine": "OVS", "reason": "Any"});
    pod[part] = value.clone();
    json!({"affectedPods": vec![pod; count]})
}

/// Returns this number of pods of networks with policies, each with one part replaced.
fn policy_pods(count: usize, part: &str, value: &Value) -> Value {
    let mut pod = json!({"network": "any", "uid": "any", "addresses": ["10.9.0.1"]});
    pod[part] = value.clone();
    json!({"policyPods": vec![pod; count]})
}

/// Statuses that no agent writes, each with the field that the API server has to name.
fn impossible() -> Vec<(&'static str, Value)> {
    let large = json!("x".repeat(300_000));
    let many = |count: usize| (0..count).map(|number| format!("any/pod-{number}")).collect::<Vec<_>>();
    let networks = |count: usize| {
        let all = (0..count).map(|number| json!({"name": format!("n{number}"), "generation": 1, "state": "Pending"}));
        json!({"networks": all.collect::<Vec<_>>()})
    };
    vec![
        ("status.networks[0].reason", report("reason", &large)),
        ("status.networks[0].reason", report("reason", &json!(""))),
        ("status.networks[0].reason", report("reason", &json!("Two\nLines"))),
        ("status.networks[0].message", report("message", &large)),
        ("status.networks[0].name", report("name", &json!("n".repeat(64)))),
        ("status.networks[0].state", report("state", &json!("Excellent"))),
        ("status.networks[0].generation", report("generation", &json!(-1))),
        ("status.networks[0].generation", report("generation", &json!(1_i64 << 62))),
        ("status.networks[0].attachments", report("attachments", &json!(-1))),
        ("status.networks[0].attachments", report("attachments", &json!(1_i64 << 62))),
        ("status.networks[0].connected", report("connected", &json!(-1))),
        ("status.networks[0].connected", report("connected", &json!(1_i64 << 62))),
        ("status.networks[0].pods", report("pods", &json!(many(11)))),
        ("status.networks[0].pods[0]", report("pods", &json!(["p".repeat(318)]))),
        ("status.networks", networks(NETWORKS_MAX + 1)),
        ("status.observedGeneration", json!({"observedGeneration": -1})),
        ("status.programmedThrough", json!({"programmedThrough": "-1"})),
        ("status.programmedThrough", json!({"programmedThrough": "9".repeat(21)})),
        ("status.programmedThrough", json!({"programmedThrough": ""})),
        ("status.conditions[0].reason", condition("reason", &large)),
        ("status.conditions[0].reason", condition("reason", &json!(""))),
        ("status.conditions[0].message", condition("message", &large)),
        ("status.conditions[0].status", condition("status", &json!("Perhaps"))),
        ("].type: Too long", condition("type", &large)),
        ("status.engines[0].version", json!({"engines": [{"engine": "OVS", "epoch": 1, "version": large}]})),
        ("status.engines[0].epoch", json!({"engines": [{"engine": "OVS", "epoch": -1, "version": "1"}]})),
        ("status.affectedPods", affected_pods(AFFECTED_PODS_MAX + 1, "reason", &json!("Any"))),
        ("status.affectedPods[0].pod", affected_pods(1, "pod", &json!("p".repeat(318)))),
        ("status.affectedPods[0].uid", affected_pods(1, "uid", &large)),
        ("status.affectedPods[0].network", affected_pods(1, "network", &json!("n".repeat(64)))),
        ("status.affectedPods[0].reason", affected_pods(1, "reason", &json!("Two\nLines"))),
        ("status.policyPods", policy_pods(POLICY_PODS_MAX + 1, "uid", &json!("any"))),
        ("status.policyPods[0].network", policy_pods(1, "network", &json!("n".repeat(64)))),
        ("status.policyPods[0].uid", policy_pods(1, "uid", &large)),
        ("status.policyPods[0].addresses", policy_pods(1, "addresses", &json!(vec!["10.9.0.1"; 33]))),
        ("status.summary.problem", json!({"summary": {"problem": large}})),
        ("status.summary.attachments", json!({"summary": {"attachments": -1}})),
    ]
}

#[test]
fn what_no_agent_writes_is_refused_with_its_field() {
    for (field, status) in impossible() {
        let answer = write(&status, true).expect_err(field);
        let start: String = answer.chars().take(2000).collect();
        assert!(answer.contains(field), "{field}: {start}");
    }
}

/// Returns all strings in a value.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _ => vec![],
    }
}

/// The worst that the CRD has room for: wrong words about a network, about many that there are not,
/// and a claim to have everything.
fn worst(network: &str) -> Value {
    let forged = format!("line\n{FORGED}\u{1b}[2J ");
    let message: String = forged.chars().cycle().take(MESSAGE_MAX).collect();
    let lie = |name: &str| {
        let pods = vec!["x".repeat(317); 10];
        json!({
            "name": name, "generation": 1, "state": "Failed", "reason": "Forged", "message": message,
            "attachments": COUNT_MAX, "connected": COUNT_MAX, "pods": pods,
        })
    };
    // Few of them with all they may have: an object may have 1.5 MB.
    let unknown = (0..NETWORKS_MAX - 1).map(|number| match number {
        0..100 => lie(&format!("unknown-{number}")),
        _ => json!({"name": format!("unknown-{number}"), "generation": 1, "state": "Draining", "attachments": 1}),
    });
    let networks: Vec<Value> = std::iter::once(lie(network)).chain(unknown).collect();
    json!({"networks": networks, "programmedThrough": u64::MAX.to_string(), "summary": {"problem": "x".repeat(160)}})
}

#[test]
fn the_worst_status_of_one_node_concerns_the_networks_that_it_names_alone() {
    let scene = Scene::new("slander");
    let on_first = json!({"matchLabels": {"kubernetes.io/hostname": "node-a"}});
    scene.network("slander", &json!({}));
    scene.network("slander-two", &json!({"nodeSelector": on_first}));
    scene.network("slander-gone", &json!({}));
    let still = StoppedProcesses::stop(vec![agent_process("node-b")]);
    write(&worst("slander"), false).unwrap();

    let message = await_condition("slander", "Ready", "False", "Forged");
    assert!(message.chars().count() <= REPORTED_MAX && !message.contains('\n'), "{message:?}");
    let object = get(&["usn", "slander"]).unwrap();
    texts(&object["status"]).into_iter().for_each(assert_unforged);
    assert_eq!(object["status"]["nodes"]["failed"], 1, "{}", object["status"]);
    assert!(object["status"]["attachments"].as_i64().is_some_and(|count| count <= COUNT_MAX), "{}", object["status"]);

    scene.apply_network("slander-two", &json!({"nodeSelector": on_first, "bridge": {"mtu": 1400}}));
    wait_ready("slander-two");
    assert_eq!(vsctl("node-a", &["get", "Interface", "br-slander-two", "mtu_request"]), "1400");
    kubectl(&["delete", "usn", "slander-two", "slander-gone", timeout()]);
    assert_eq!(get(&["usn", "unknown-0"]), None);
    assert_unforged(&controller_log());

    drop(still);
    replace_agent("node-b");
    wait_ready("slander");
    eventually("nothing is left of the network that was deleted meanwhile", || {
        let left = crate::support::scene::remains("slander-gone");
        check(left.is_empty(), format!("{left:?}"))
    });
}
