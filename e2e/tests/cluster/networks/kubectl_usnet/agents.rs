//! Commands that run programs in the containers of agents.

use super::{list, text};
use crate::support::cluster::{nodes, run, vsctl};
use crate::support::kubectl_usnet::ask;
use crate::support::pods::{NODE, sleeping_pod, start};
use crate::support::scene::Scene;
use crate::support::station::Station;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const NETWORK: &str = "ask-agents";

/// The nodes whose changes these are.
fn nodes_of(report: &Value) -> BTreeSet<&str> {
    list(report, "changes").iter().map(|change| text(change, "node")).collect()
}

#[test]
fn agents_report_their_nodes_and_one_that_does_not_respond_is_named() {
    let scene = Scene::new(NETWORK);
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.56.31.0/24"}]]});
    scene.network(NETWORK, &json!({"port": {"type": "Veth"}, "ipam": ipam}));
    start(&scene, &sleeping_pod(&scene, "user", NETWORK));

    let (status, report) = ask(&["pods", NETWORK, "--from-nodes"]);
    assert_eq!((status, &report["notRead"]), (0, &Value::Null), "{report}");
    let [interface] = list(&report, "interfaces").as_slice() else { panic!("{report}") };
    let address = format!("{}/24", Station::of_pod(&scene, "user").address);
    let port = vsctl(NODE, &["list-ports", "br-ask-agents"]);
    for (field, value) in [
        ("pod", json!("ask-agents/user")),
        ("interface", json!("net1")),
        ("node", json!(NODE)),
        ("program", json!("NotNeeded")),
        ("addresses", json!([address])),
        ("port", json!(port)),
    ] {
        assert_eq!(interface[field], value, "{field} of {interface}");
    }

    let (status, report) = ask(&["history", "--network", NETWORK]);
    assert_eq!((status, &report["notRead"]), (0, &Value::Null), "{report}");
    let changes = list(&report, "changes");
    assert!(changes.is_sorted_by_key(|change| text(change, "time")), "{report}");
    for node in nodes() {
        let is_creation = |change: &&Value| {
            text(change, "node") == node && text(change, "operation").starts_with("create bridge br-ask-agents")
        };
        let created = changes.iter().find(is_creation).unwrap_or_else(|| panic!("{node}: {report}"));
        assert_eq!((&created["why"], &created["result"]), (&json!("NewSpec"), &json!("Done")), "{created}");
    }
    assert!(changes.iter().any(|change| change["why"] == "Runtime" && change["node"] == NODE), "{report}");
    let (_, report) = ask(&["history", "--network", NETWORK, "--node", "node-b", "--since", "1h"]);
    assert_eq!(nodes_of(&report), BTreeSet::from(["node-b"]));

    let (status, report) = ask(&["version"]);
    assert_eq!((status, &report["versionsDiffer"], &report["notRead"]), (0, &json!(false), &Value::Null), "{report}");
    for (program, pods) in [("agents", nodes().len()), ("controllers", 2)] {
        let [image] = list(&report, program).as_slice() else { panic!("{report}") };
        assert_eq!((&image["version"], &image["pods"]), (&report["client"]["version"], &json!(pods)), "{report}");
    }

    let engines: Vec<_> = list(&report, "engines").iter().map(|engine| text(engine, "engine")).collect();
    assert!(engines.contains(&"OVS") && text(&report["kubernetes"], "apiServer").starts_with("v1."), "{report}");

    run("component", &["stop", "kubelet", "node-b"]);
    let (status, report) = ask(&["history", "--network", NETWORK]);
    run("component", &["start", "kubelet", "node-b"]);
    let [missing] = list(&report, "notRead").as_slice() else { panic!("{report}") };
    println!("{missing}");
    assert_eq!((status, text(missing, "what")), (0, "the history of node node-b"));
    assert!(!text(missing, "why").is_empty() && !nodes_of(&report).contains("node-b"), "{report}");
    assert!(nodes_of(&report).contains(NODE), "{report}");
}
