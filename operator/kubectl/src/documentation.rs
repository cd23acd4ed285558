//! Checks docs/kubectl-usnet.md: it has every command, exit status and cause, and its examples are
//! what the commands print for the cluster of [`example`]. `USNET_WRITE_DOCS=1` writes the
//! examples.

use super::command_line::{EXIT_STATUSES, command};
use super::commands::{explain, graph, plan, pods, status};
use super::model::Snapshot;
use super::model::testing::{
    add, add_network, attached, condition, engine_object, merge, network_object, network_report, pod_object, snapshot,
    state_object,
};
use serde_json::json;
use std::path::PathBuf;
use usnet_crds::userspace_engine::preparation::NodeFacts;
use usnet_crds::userspace_engine::types::HugepageSize;

const PAGE: &str = "docs/kubectl-usnet.md";

fn path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(PAGE)
}

/// The cluster has two nodes, of which node-b does not have network blue. The program of web/dpdk-0
/// does not listen, and web/dpdk-1 has no volume.
fn example() -> Snapshot {
    let mut snapshot = snapshot();
    let mut blue = network_object("blue", &json!({}));
    let message = "bridge br-blue exists and is not owned by usnet; it was not changed";
    let failures = json!([{"node": "node-b", "reason": "BridgeExists", "message": message}]);
    let conditions = json!([
        condition("Ready", "False", "BridgeExists", "programmed on 1 of 2 nodes; node node-b: BridgeExists"),
        condition("Accepted", "True", "Valid", ""),
        condition("Stalled", "True", "BridgeExists", "see Ready"),
    ]);
    merge(&mut blue, &json!({"status": {"conditions": conditions, "failures": failures, "attachments": 1}}));
    add_network(&mut snapshot, &blue);
    let unconnected = "interface net1: Open vSwitch connects, and the program has to listen on net1.sock";
    let degraded = json!([{"pod": "web/dpdk-0", "uid": "uid of dpdk-0", "interface": "net1", "reason": "NotConnected", "message": unconnected}]);
    let report = network_report("blue", "Programmed", &json!({"attachments": 1, "degraded": degraded}));
    add(&mut snapshot, &state_object("node-a", &json!([report])));
    let failed = network_report("blue", "Failed", &json!({"reason": "BridgeExists", "message": message}));
    let mut state = state_object("node-b", &json!([failed]));
    state["status"]["conditions"][3] =
        condition("NetworksProgrammed", "False", "NotProgrammed", "0 of 1 networks are programmed");
    add(&mut snapshot, &state);
    add(&mut snapshot, &pod_object("dpdk-0", &attached()));
    add(&mut snapshot, &pod_object("dpdk-1", &json!({"spec": {"volumes": []}})));
    snapshot
}

/// The cluster has a UserspaceEngine, for which node-b has neither hugepages nor exclusive CPUs.
fn example_of_engines() -> Snapshot {
    let mut snapshot = snapshot();
    let spec = json!({
        "nodeSelector": {"matchLabels": {"rack": null, "kubernetes.io/os": "linux"}},
        "image": "registry.example/usnet-openvswitch:0.1.0",
        "memory": {"packets": "1Gi", "hugepages": "2Mi"}, "cpus": {"exclusive": 2},
    });
    let mut engine = engine_object("ovs", &spec);
    let message = "spec.memory.packets asks for hugepages that the node does not have or has given to others";
    let conditions = json!([
        condition("Ready", "False", "InsufficientHugepages", &format!("node node-b: {message}")),
        condition("Updated", "True", "UpToDate", "no node has to be restarted"),
    ]);
    let problem = json!({"node": "node-b", "reason": "InsufficientHugepages", "message": message});
    let nodes = json!({"running": 1, "updated": 2, "summary": "1/2"});
    merge(&mut engine, &json!({"status": {"conditions": conditions, "problems": [problem], "nodes": nodes}}));
    add(&mut snapshot, &engine);
    add_network(&mut snapshot, &network_object("blue", &json!({})));
    let report = network_report("blue", "Programmed", &json!({"attachments": 1, "connected": 1}));
    add(&mut snapshot, &state_object("node-a", &json!([report])));
    let mut state = state_object("node-b", &json!([]));
    state["status"]["conditions"][1] = condition("OVSConnected", "False", "NeverSeen", "");
    state["status"]["engines"] = json!([]);
    add(&mut snapshot, &state);
    let hugepages = [(HugepageSize::Mi2, 0)].into();
    let (name, os_image) = ("node-b".to_owned(), "Rocky Linux 9.4 (Blue Onyx)".to_owned());
    snapshot.node_facts = Some(NodeFacts { name, os_image, architecture: "amd64".to_owned(), hugepages });
    snapshot
}

/// Returns the arguments of `kubectl usnet` and the output of each example.
fn examples() -> Vec<(&'static str, String)> {
    let (snapshot, engines) = (example(), example_of_engines());
    let pod = snapshot.pods.iter().find(|pod| pod.name == "dpdk-1").unwrap();
    vec![
        ("status", status::text::text(&status::report::report(&snapshot))),
        ("pods blue", pods::text::text(&pods::report::report(&snapshot, "blue", None))),
        ("explain pod web/dpdk-1", explain::text::text(&explain::pod::report(&snapshot, pod))),
        ("explain usne ovs", explain::text::text(&explain::engine::report(&engines, "ovs", &engines.engines["ovs"]))),
        ("explain node node-b", explain::text::text(&explain::node::report(&engines, "node-b"))),
        ("plan -f network.yaml", plan::example(&snapshot)),
        ("graph", graph::text::text(&graph::report::graph(&snapshot, None))),
    ]
}

#[test]
fn examples_are_what_the_commands_print() {
    let mut page = std::fs::read_to_string(path()).unwrap();
    for (arguments, text) in examples() {
        let start = format!("```console\n$ kubectl usnet {arguments}\n");
        let begin = page.find(&start).unwrap_or_else(|| panic!("{PAGE} has no example of kubectl usnet {arguments}"))
            + start.len();
        let end = begin + page[begin..].find("```\n").unwrap();
        if std::env::var_os("USNET_WRITE_DOCS").is_some() {
            page.replace_range(begin..end, &text);
        }
        let end = begin + page[begin..].find("```\n").unwrap();
        assert_eq!(&page[begin..end], text, "{PAGE}, kubectl usnet {arguments}: USNET_WRITE_DOCS=1 writes it");
    }
    if std::env::var_os("USNET_WRITE_DOCS").is_some() {
        std::fs::write(path(), page).unwrap();
    }
}

#[test]
fn the_page_has_every_command_and_exit_status_and_the_help_every_option() {
    let page = std::fs::read_to_string(path()).unwrap();
    for subcommand in command().get_subcommands().filter(|it| it.get_name() != "help") {
        let heading = format!("## `{}", subcommand.get_name());
        assert!(page.contains(&heading), "{PAGE} has no heading that begins with {heading}");
        for option in subcommand.get_arguments() {
            assert!(option.get_help().is_some(), "--help of {} says nothing about {option}", subcommand.get_name());
        }
    }
    for line in EXIT_STATUSES.lines().skip(1) {
        let (status, meaning) = line.trim().split_once("  ").unwrap();
        let row = format!("| {status} | {meaning} |");
        assert!(page.contains(&row), "{PAGE} does not have {row}");
    }
}

#[test]
fn the_page_of_captures_has_the_limits_by_which_they_end() {
    let command = command();
    let capture = command.find_subcommand("capture").unwrap();
    let default = |name: &str| {
        let option = capture.get_arguments().find(|it| it.get_long() == Some(name)).unwrap();
        option.get_default_values().first().unwrap().to_str().unwrap().parse::<u64>().unwrap()
    };
    let (frames, seconds, mebibytes) = (default("count"), default("seconds"), default("bytes") >> 20);
    let limits = format!("{frames} frames, {seconds} seconds (at most 3600) or {mebibytes} MiB of frames");
    let page = std::fs::read_to_string(path().with_file_name("capture.md")).unwrap();
    assert!(page.contains(&limits), "docs/capture.md does not have {limits:?}");
}

#[test]
fn every_cause_is_documented() {
    let page = std::fs::read_to_string(path()).unwrap();
    for source in [
        include_str!("commands/explain/workload/mod.rs"),
        include_str!("commands/explain/pod/added.rs"),
        include_str!("commands/explain/pod/address.rs"),
        include_str!("commands/explain/pod/all_interfaces.rs"),
        include_str!("commands/explain/pod/annotation.rs"),
        include_str!("commands/explain/pod/claims.rs"),
        include_str!("commands/explain/pod/known_texts.rs"),
        include_str!("commands/explain/pod/last_resort.rs"),
        include_str!("commands/explain/pod/scheduling.rs"),
        include_str!("commands/explain/pod/volume.rs"),
        include_str!("commands/explain/pod/definition.rs"),
        include_str!("commands/explain/pod/placement.rs"),
        include_str!("commands/explain/pod/attachment.rs"),
        include_str!("commands/explain/pod/refusal.rs"),
        include_str!("commands/explain/network/causes.rs"),
        include_str!("commands/explain/engine/causes.rs"),
        include_str!("commands/explain/node/causes.rs"),
    ] {
        let literals = source.split('"').skip(1).step_by(2);
        let is_cause = |text: &&str| {
            text.len() > 5
                && text.chars().all(|letter| letter.is_ascii_alphabetic())
                && text.starts_with(|first: char| first.is_uppercase())
                && text.chars().filter(|letter| letter.is_uppercase()).count() > 1
        };
        for cause in literals.filter(is_cause).filter(|it| !it.contains("BackOff") && !it.ends_with("Error")) {
            let is_event = cause.starts_with("Failed") || ["DNSConfigForming", "InspectFailed"].contains(&cause);
            let is_of_kubernetes = ["ErrImagePull", "ErrImageNeverPull", "ReplicaSet"].contains(&cause);
            let is_there = page.contains(&format!("`{cause}`")) || is_event || is_of_kubernetes;
            assert!(is_there, "{PAGE} does not have `{cause}`");
        }
    }
}
