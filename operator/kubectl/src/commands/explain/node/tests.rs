//! Each test has a state of the node with one problem, and the cause that is found.

use super::report;
use crate::commands::explain::text::text;
use crate::model::testing::{
    add, add_network, condition, engine_object, network_object, network_report, node_object, snapshot, state_object,
};
use crate::model::{Objects, Snapshot};
use serde_json::{Value, json};

/// The cluster with this change of the state of node-a.
fn with(change: impl FnOnce(&mut Value)) -> Snapshot {
    let mut snapshot = snapshot();
    add_network(&mut snapshot, &network_object("blue", &json!({})));
    let mut state = state_object("node-a", &json!([]));
    change(&mut state);
    add(&mut snapshot, &state);
    snapshot
}

fn with_report(state: &str, rest: &Value) -> Snapshot {
    with(|object| object["status"]["networks"] = json!([network_report("blue", state, rest)]))
}

fn with_agent(change: impl FnOnce(&mut crate::model::Pod)) -> Snapshot {
    let mut snapshot = with(|_| ());
    change(snapshot.usnet_pods.iter_mut().find(|pod| pod.name == "usnet-agent-node-a").unwrap());
    snapshot
}

/// The causes with which the node itself works.
const WARNINGS: &[&str] = &["NotConnected"];

#[track_caller]
fn check(snapshot: &Snapshot, cause: &str, words: &[&str]) {
    let report = report(snapshot, "node-a");
    let causes: Vec<_> = report.findings.iter().map(|finding| finding.cause.as_str()).collect();
    assert_eq!(causes, [cause], "{}", text(&report));
    assert_eq!(report.is_ok(), WARNINGS.contains(&cause), "{}", text(&report));
    for word in words {
        assert!(text(&report).contains(word), "no {word:?} in\n{}", text(&report));
    }
}

#[test]
fn a_node_without_a_problem_has_no_cause() {
    let report = report(&with_report("Programmed", &json!({"attachments": 2, "connected": 1})), "node-a");
    assert_eq!(report.findings, []);
    assert_eq!(report.parts.rows, [["blue", "Programmed", "2", "1", ""].map(str::to_owned)]);
    assert!(report.state.contains("Open vSwitch 3.1.0, VPP 26.06"), "{}", report.state);
}

#[test]
fn a_node_that_is_not_ready() {
    let mut snapshot = with(|_| ());
    let mut node = node_object("node-a");
    node["status"]["conditions"][0]["status"] = json!("Unknown");
    add(&mut snapshot, &node);
    check(&snapshot, "NodeNotReady", &["kubectl describe node node-a"]);
}

#[test]
fn agents_that_do_not_run() {
    let mut snapshot = with(|_| ());
    snapshot.usnet_pods.retain(|pod| pod.name != "usnet-agent-node-a");
    check(&snapshot, "NoAgent", &["kubectl describe daemonset"]);
    snapshot.unread_objects.insert(Objects::UsnetPods);
    assert_eq!(report(&snapshot, "node-a").findings, [], "it is not known");
    let crashing = with_agent(|agent| {
        agent.is_ready = false;
        agent.containers[0].is_running = false;
        agent.containers[0].restarts = 7;
        agent.containers[0].reason = Some("CrashLoopBackOff".to_owned());
    });
    check(&crashing, "AgentCrashes", &["7 times (CrashLoopBackOff)", "--previous"]);
    let pulling = with_agent(|agent| {
        agent.is_ready = false;
        agent.containers[0].is_running = false;
        agent.containers[0].reason = Some("ImagePullBackOff".to_owned());
    });
    check(&pulling, "AgentNotStarted", &["ImagePullBackOff"]);
    check(&with_agent(|agent| agent.is_ready = false), "AgentNotReady", &["has not programmed the node yet"]);
}

#[test]
fn agent_of_another_release() {
    let old = with_agent(|agent| agent.containers[0].image = "usnet:0.0.9".to_owned());
    check(&old, "AgentOutdated", &["usnet:0.0.9", "the controllers have usnet:test"]);
}

#[test]
fn reports_that_are_missing() {
    let mut snapshot = with(|_| ());
    snapshot.cache.states.remove("node-a");
    check(&snapshot, "NoNodeState", &["check the controllers"]);
    check(&with(|state| drop(state.as_object_mut().unwrap().remove("status"))), "NeverReported", &["its rights"]);
    check(&with(|state| state["metadata"]["generation"] = json!(5)), "LabelsNotObserved", &["labels"]);
}

#[test]
fn files_that_cannot_be_written() {
    for (reason, remedy) in [("StateNotWritable", "free space"), ("AgentFailed", "check the disk")] {
        let ready = condition("Ready", "False", reason, "No space left on device");
        check(&with(|state| state["status"]["conditions"][0] = ready), reason, &["No space left", remedy]);
    }
}

#[test]
fn networks_with_the_same_problem_are_one_finding() {
    let names: Vec<String> = (0..100).map(|number| format!("n{number:02}")).collect();
    let message = "Open vSwitch runs without DPDK: ovs-vsctl set Open_vSwitch . other_config:dpdk-init=true";
    let failed =
        |name: &String| network_report(name, "Failed", &json!({"reason": "EngineUnsuitable", "message": message}));
    let reports = names.iter().map(failed).collect();
    let snapshot = with(|state| state["status"]["networks"] = reports);
    check(&snapshot, "EngineUnsuitable", &["of networks n00, n01", "and 95 more", "without DPDK: ovs-vsctl set"]);
}

#[test]
fn an_address_of_metrics_that_another_program_uses() {
    let unserved = condition("MetricsServed", "False", "AddressTaken", "cannot listen at 127.0.0.1:28181");
    let snapshot = with(|state| state["status"]["conditions"].as_array_mut().unwrap().push(unserved));
    check(&snapshot, "AddressTaken", &["cannot listen at 127.0.0.1:28181", "agent.metricsPort"]);
}

#[test]
fn a_file_of_the_node_with_a_configuration_that_cannot_be_used() {
    let invalid = condition("ConfigurationsAccepted", "False", "ConfigurationInvalid", "file 90-userspace.conf");
    let snapshot = with(|state| state["status"]["conditions"].as_array_mut().unwrap().push(invalid));
    check(&snapshot, "ConfigurationInvalid", &["file 90-userspace.conf", "or remove the file"]);
}

#[test]
fn engines_that_are_not_connected() {
    for (reason, remedy) in [
        ("Disconnected", "start ovsdb-server and ovs-vswitchd on the node; everything"),
        ("NotActing", "start ovs-vswitchd"),
    ] {
        let down = condition("OVSConnected", "False", reason, "connection refused");
        let snapshot = with(|state| state["status"]["conditions"][1] = down);
        check(&snapshot, &format!("Engine{reason}"), &["of Open vSwitch", "connection refused", remedy]);
    }
    let never = condition("OVSConnected", "False", "NeverSeen", "no socket");
    let mut snapshot = with(|state| state["status"]["conditions"][1] = never);
    assert_eq!(report(&snapshot, "node-a").findings, [], "no network requires it here");
    add_network(&mut snapshot, &network_object("green", &json!({"nodeSelector": {"matchLabels": {"rack": "a"}}})));
    check(&snapshot, "EngineNeverSeen", &["Open vSwitch, for green", "no socket"]);
}

#[test]
fn networks_that_fail_are_pending_or_drain() {
    for (state, reason, remedy) in [
        ("Failed", "BridgeExists", "remove the bridge"),
        ("Failed", "MtuTooLarge", "a smaller spec.bridge.mtu"),
        ("Failed", "Unreadable", "same release"),
        ("Pending", "Waiting", "wait"),
        ("Draining", "InUse", "delete the pods"),
        ("Draining", "ForeignPorts", "remove the ports"),
    ] {
        let snapshot = with_report(state, &json!({"reason": reason, "message": "because"}));
        check(&snapshot, reason, &["of network blue", "because", remedy]);
    }
}

#[test]
fn uplinks_that_fail() {
    let uplinks =
        json!([{"name": "fab", "generation": 1, "state": "Failed", "reason": "NicMissing", "message": "no eth1"}]);
    check(
        &with(|state| state["status"]["uplinks"] = uplinks),
        "NicMissing",
        &["of uplink fab", "no eth1", "connect the NIC"],
    );
}

#[test]
fn interfaces_with_a_problem_of_their_own() {
    let degraded = json!([{"pod": "web/app", "uid": "u", "interface": "net1", "reason": "SocketUnusable", "message": "a directory"}]);
    let snapshot = with_report("Programmed", &json!({"attachments": 1, "degraded": degraded}));
    check(&snapshot, "SocketUnusable", &["of network blue: web/app net1", "a directory"]);
}

/// The cluster with UserspaceEngine ovs, of which the node says why it does not run.
fn with_engine(spec: &Value, reason: &str) -> Snapshot {
    let down = condition("OVSConnected", "False", reason, "UserspaceEngine ovs: because");
    let mut snapshot = with(|state| state["status"]["conditions"][1] = down);
    add(&mut snapshot, &engine_object("ovs", spec));
    let node = json!({
        "metadata": {"name": "node-a"},
        "status": {"capacity": {"hugepages-2Mi": "0"}, "nodeInfo": {
            "osImage": "Rocky Linux 9.4 (Blue Onyx)", "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "",
            "kernelVersion": "", "kubeProxyVersion": "", "kubeletVersion": "", "machineID": "", "operatingSystem": "linux", "systemUUID": "",
        }},
    });
    snapshot.node_facts = Some(crate::model::engine::node_facts(serde_json::from_value(node).unwrap()));
    snapshot
}

#[test]
fn a_node_that_lacks_what_an_engine_asks_for_has_the_commands_for_its_distribution() {
    let hugepages = json!({"memory": {"packets": "1Gi", "hugepages": "2Mi"}});
    let mut snapshot = with_engine(&hugepages, "InsufficientHugepages");
    let grubby = "        grubby --update-kernel=ALL --args=\"hugepagesz=2M hugepages=512\"\n";
    check(&snapshot, "InsufficientHugepages", &["of Open vSwitch", "TO DO BY THE ADMINISTRATOR", grubby]);
    assert!(!text(&report(&snapshot, "node-a")).contains("update-grub"), "not of this distribution");
    // Without the right to read nodes all common ones are there.
    snapshot.node_facts = None;
    check(&snapshot, "InsufficientHugepages", &[grubby, "        update-grub\n", "        rpm-ostree kargs"]);
    let cpus = with_engine(&json!({"cpus": {"exclusive": 2}}), "CPUsNotExclusive");
    let words = ["kubectl drain node-a", "cpuManagerPolicy: static", "rm -f /var/lib/kubelet/cpu_manager_state"];
    check(&cpus, "CPUsNotExclusive", &words);
    let devices = with_engine(&json!({"nics": "PCI"}), "DevicesMissing");
    check(&devices, "DevicesMissing", &["intel_iommu=on", "modprobe vfio-pci"]);
}

#[test]
fn the_scheduler_refuses_an_engine_before_its_node_says_anything() {
    let mut snapshot = with_engine(&json!({}), "NeverSeen");
    let mut engine = engine_object("ovs", &json!({"memory": {"hugepages": "1Gi"}}));
    let problem = json!({"node": "node-a", "reason": "InsufficientHugepages", "message": "0/2 nodes are available"});
    engine["status"]["problems"] = json!([problem]);
    add(&mut snapshot, &engine);
    let words = [
        "of Open vSwitch of UserspaceEngine ovs",
        "the commands are below",
        "default_hugepagesz=1G hugepagesz=1G hugepages=1",
    ];
    check(&snapshot, "InsufficientHugepages", &words);
}

#[test]
fn a_node_that_has_what_its_engine_asks_for_needs_nothing() {
    let mut snapshot = with(|_| ());
    add(
        &mut snapshot,
        &engine_object("ovs", &json!({"memory": {"hugepages": "2Mi"}, "cpus": {"exclusive": 1}, "nics": "PCI"})),
    );
    assert_eq!(report(&snapshot, "node-a").preparation, []);
    let other = json!({"memory": {"hugepages": "2Mi"}, "nodeSelector": {"matchLabels": {"rack": "z"}}});
    let mut engine = engine_object("ovs", &other);
    engine["status"]["conditions"][1] = condition("Updated", "False", "RestartNeeded", "");
    add(&mut snapshot, &engine);
    assert_eq!(report(&snapshot, "node-a").preparation, [], "it is not selected");
    // The engine that runs has another spec.
    engine["spec"]["nodeSelector"] = json!({"matchLabels": {"rack": "a"}});
    add(&mut snapshot, &engine);
    assert!(text(&report(&snapshot, "node-a")).contains("hugepagesz=2M hugepages=512"));
}

#[test]
fn an_engine_that_usnet_is_to_run_is_not_to_be_started_by_hand() {
    let mut snapshot = with_engine(&json!({}), "NeverSeen");
    add_network(&mut snapshot, &network_object("green", &json!({"nodeSelector": {"matchLabels": {"rack": "a"}}})));
    check(&snapshot, "EngineNeverSeen", &["kubectl usnet explain usne ovs"]);
}

#[test]
fn a_nic_that_is_not_given_to_programs_needs_the_iommu() {
    let uplinks =
        json!([{"name": "fab", "generation": 1, "state": "Failed", "reason": "NicNotBound", "message": "no IOMMU"}]);
    let snapshot = with(|state| state["status"]["uplinks"] = uplinks);
    check(&snapshot, "NicNotBound", &["intel_iommu=on amd_iommu=on iommu=pt", "/etc/modules-load.d/vfio-pci.conf"]);
}
