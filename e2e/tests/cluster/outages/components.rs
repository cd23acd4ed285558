//! Outages of parts: the agent, the API server, Open vSwitch.

use crate::support::cluster::{NODES, apply, check, condition, eventually, get, kubectl, on_node, run, try_run, vsctl};
use crate::support::direct_cni::DirectPods;
use crate::support::kubectl_usnet::ask;
use crate::support::pods::{NODE, await_packets, sleeping_pod, start, testpmd_pod, uid};
use crate::support::scene::{ENGINE_GONE, Scene, agent_log, agent_pod, await_condition, wait_ready};
use crate::support::testpmd::flowing_counters;
use serde_json::{Value, json};

/// Kills the agent of a node and waits for the next one.
pub(crate) fn replace_agent(node: &str) {
    let agent = agent_pod(node);
    kubectl(&["delete", "pod", &agent, "-n", "usnet-system", "--grace-period=0", "--force"]);
    eventually("another agent runs", || {
        let now = agent_pod(node);
        check(now != agent, "still the first")?;
        try_run("kubectl", &["wait", "--for=condition=Ready", &format!("pod/{now}"), "-n", "usnet-system"], "")
            .map(drop)
    });
}

#[test]
fn a_restarted_agent_changes_nothing_and_traffic_goes_on() {
    let scene = Scene::new("restart");
    scene.network("restart", &json!({}));
    for pod in ["left", "right"] {
        start(&scene, &testpmd_pod(&scene, pod, "restart", "flowgen"));
    }
    await_packets(&scene, "right", 1);
    eventually("the status settles", || {
        let observed = get(&["usn", "restart"]).unwrap()["status"]["attachments"].clone();
        check(observed == 2, observed.to_string())
    });

    // What Open vSwitch keeps on disk grows with each changed row; counters are not part of it.
    let database = || on_node(NODE, &["cksum", "/etc/openvswitch/conf.db"]);
    let before = database();
    replace_agent(NODE);
    eventually("the agent has looked at everything", || {
        let log = agent_log(NODE);
        check(log.contains("programmed=1"), log)
    });
    assert_eq!(database(), before, "a row of Open vSwitch changed");

    let first = await_packets(&scene, "right", 1);
    eventually("more packets", || {
        let now = await_packets(&scene, "right", 1);
        check(now > first, format!("{now:?}"))
    });
    flowing_counters(&kubectl(&["logs", "right", "-n", &scene.name]));
}

/// The switch of a node, restarted without DPDK; with it again when this is dropped.
struct WithoutDpdk(&'static str);

impl WithoutDpdk {
    fn start(node: &'static str) -> Self {
        let without = Self(node);
        vsctl(node, &["--no-wait", "remove", "Open_vSwitch", ".", "other_config", "dpdk-init"]);
        restart_switch(node);
        assert_eq!(vsctl(node, &["--no-wait", "get", "Open_vSwitch", ".", "dpdk_initialized"]), "false");
        without
    }
}

impl Drop for WithoutDpdk {
    fn drop(&mut self) {
        vsctl(self.0, &["--no-wait", "set", "Open_vSwitch", ".", "other_config:dpdk-init=true"]);
        restart_switch(self.0);
    }
}

/// Each command names DPDK and how to set it, and does not say that it recovers by itself.
fn assert_dpdk_is_named(network: &str) {
    let says = |text: &str| text.contains("without DPDK") && text.matches("ovs-vsctl set").count() == 2;
    let (_, report) = ask(&["status"]);
    let is_it = |problem: &&Value| problem["reason"] == "EngineUnsuitable";
    let found = |list: &str| report[list].as_array().unwrap().iter().find(is_it).cloned();
    let problem = found("needsAction").unwrap_or_else(|| panic!("{report}"));
    assert_eq!((&problem["subject"], &problem["nodes"]), (&"engine Open vSwitch".into(), &json!([NODE])), "{report}");
    let networks = problem["networks"].as_array().unwrap();
    assert!(networks.contains(&network.into()) && says(problem["message"].as_str().unwrap()), "{report}");
    assert_eq!(found("recovers"), None, "{report}");
    for subject in [["node", NODE], ["network", network]] {
        let (status, report) = ask(&[["explain"].as_slice(), &subject].concat());
        let findings = report["findings"].as_array().unwrap();
        let finding = findings.iter().find(|finding| finding["cause"] == "EngineUnsuitable").unwrap_or(&Value::Null);
        assert!(status == 1 && says(finding["why"].as_str().unwrap_or_default()), "{report}");
    }
}

fn restart_switch(node: &str) {
    run("component", &["stop", "ovs-vswitchd", node]);
    run("component", &["start", "ovs-vswitchd", node]);
}

#[test]
fn a_switch_that_comes_back_without_dpdk_fails_networks_of_vhost_user_ports_alone() {
    let scene = Scene::new("nodpdk");
    scene.network("nodpdk", &json!({}));
    scene.network("nodpdk-veth", &json!({"port": {"type": "Veth"}}));
    start(&scene, &sleeping_pod(&scene, "before", "nodpdk-veth"));
    {
        let _without = WithoutDpdk::start(NODE);
        let message = await_condition("nodpdk", "Ready", "False", "EngineUnsuitable");
        assert!(message.contains("without DPDK") && message.contains(NODE), "{message}");
        assert_dpdk_is_named("nodpdk");
        kubectl(&["wait", "--for=condition=Ready", "usn/nodpdk-veth", "--timeout=30s"]);
        start(&scene, &sleeping_pod(&scene, "during", "nodpdk-veth"));
        // The event of a pod that has to be on that node.
        apply(&sleeping_pod(&scene, "refused", "nodpdk"));
        eventually("the event of the pod", || {
            let about = "involvedObject.name=refused,reason=FailedCreatePodSandBox";
            let events = kubectl(&["get", "events", "-n", &scene.name, "--field-selector", about, "-o", "yaml"]);
            check(events.contains("EngineUnsuitable") && events.contains("without DPDK"), events)
        });
    }
    wait_ready("nodpdk");
    kubectl(&["wait", "--for=condition=Ready", "pod/refused", "-n", &scene.name, "--timeout=120s"]);
}

#[test]
fn pods_start_and_stop_without_the_api_server() {
    let scene = Scene::new("headless");
    scene.network("headless", &json!({"ipam": {"type": "host-local", "ranges": [[{"subnet": "10.56.3.0/24"}]]}}));
    let pods = DirectPods::new(NODE, &scene.name);
    pods.create_volume(0);

    run("component", &["stop", "kube-apiserver"]);
    let added = pods.call("ADD", "headless", 0);
    let port = vsctl(NODE, &["list-ports", "br-headless"]);
    let deleted = pods.call("DEL", "headless", 0);
    let left = vsctl(NODE, &["list-ports", "br-headless"]);
    // Drift is repaired without the API server as well.
    vsctl(NODE, &["--no-wait", "del-br", "br-headless"]);
    eventually("the bridge is back", || check(vsctl(NODE, &["list-br"]).contains("br-headless"), "not there"));
    run("component", &["start", "kube-apiserver"]);

    let result: Value = serde_json::from_str(&added.unwrap()).unwrap();
    assert!(result["ips"][0]["address"].as_str().unwrap().starts_with("10.56.3."), "{result}");
    assert!(port.starts_with("vhu"), "{port}");
    assert_eq!((deleted.as_deref(), left.as_str()), (Ok(""), ""));

    // All catches up: a new network, and a pod on it.
    scene.network("headless-2", &json!({}));
    start(&scene, &sleeping_pod(&scene, "after", "headless-2"));
}

/// The engine is one problem with its networks and pods, which are none of their own.
fn assert_the_engine_is_the_problem(network: &str, pod: &str) {
    let (_, report) = ask(&["status"]);
    let lists = ["needsAction", "recovers"].iter().flat_map(|list| report[*list].as_array().unwrap());
    let problems: Vec<&Value> = lists.collect();
    let engine = problems.iter().find(|problem| problem["subject"] == "engine Open vSwitch");
    let engine = engine.unwrap_or_else(|| panic!("{report}"));
    let has = |field: &str, name: &str| engine[field].as_array().is_some_and(|names| names.contains(&name.into()));
    assert!(has("nodes", NODE) && has("networks", network) && has("pods", pod), "{report}");
    assert!(problems.iter().all(|problem| problem["subject"] != format!("network {network}").as_str()), "{report}");
}

#[test]
fn an_outage_of_open_vswitch_is_reported_and_ends_by_itself() {
    let scene = Scene::new("ovsgone");
    scene.network("ovsgone", &json!({}));
    start(&scene, &sleeping_pod(&scene, "runs", "ovsgone"));
    let port = vsctl(NODE, &["list-ports", "br-ovsgone"]);

    run("component", &["stop", "ovs-vswitchd", NODE]);
    run("component", &["stop", "ovsdb-server", NODE]);
    eventually("the node says so", || {
        let state = get(&["usns", NODE]).unwrap();
        let observed = condition(&state, "OVSConnected").cloned().unwrap_or_default();
        check(observed["status"] == "False" && observed["reason"] == "Disconnected", state["status"].to_string())
    });
    await_condition("ovsgone", "Ready", "False", ENGINE_GONE);
    let ready = condition(&get(&["usns", NODE]).unwrap(), "Ready").cloned().unwrap_or_default();
    assert_eq!((&ready["status"], &ready["reason"]), (&"False".into(), &ENGINE_GONE.into()), "{ready}");
    assert_the_engine_is_the_problem("ovsgone", &format!("{}/runs", scene.name));
    apply(&sleeping_pod(&scene, "waits", "ovsgone"));
    scene.await_refusal("waits", &["ovsgone", "Open vSwitch"]);
    // A pod can go meanwhile; the agent cleans up what it could not.
    let gone = uid(&scene, "runs");
    scene.delete_pod("runs");

    run("component", &["start", "ovsdb-server", NODE]);
    run("component", &["start", "ovs-vswitchd", NODE]);
    wait_ready("ovsgone");
    crate::support::pods::wait_running(&scene, "waits");
    eventually("the port of the pod that went is gone", || {
        let ports = vsctl(NODE, &["list-ports", "br-ovsgone"]);
        check(!ports.contains(&port) && ports.lines().count() == 1, ports)
    });
    eventually("its record is gone", || {
        let remains = crate::support::pods::remains(&gone);
        check(remains.is_empty(), remains)
    });
    assert!(NODES.iter().all(|node| vsctl(node, &["list-br"]).contains("br-ovsgone")));
}
