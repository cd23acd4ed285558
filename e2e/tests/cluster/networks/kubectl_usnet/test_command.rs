//! `kubectl usnet test`: it passes if all works, reports what does not, and leaves nothing.

use super::{list, text};
use crate::support::cluster::{check, eventually, get, kubectl, nodes, run, timeout, vsctl};
use crate::support::kubectl_usnet::{ask, usnet};
use crate::support::pods::NODE;
use crate::support::scene::Scene;
use crate::support::vpp;
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// An image that is not there. No registry answers: a pod does not end while its image is pulled.
const ABSENT: &str = "--image=localhost:1/absent:1";
/// The label of what a test creates.
const LABEL: &str = "usnet.dev/test";

/// Everything with the label, by name.
fn remains() -> Vec<String> {
    let kinds = "namespaces,pods,userspacenetworks";
    let text = kubectl(&["get", kinds, "-A", "-l", LABEL, "-o", "name"]);
    text.lines().map(str::to_owned).collect()
}

/// The checks of a kind.
fn of<'a>(report: &'a Value, kind: &str) -> Vec<&'a Value> {
    list(report, "checks").iter().filter(|check| check["check"] == kind).collect()
}

/// Tests Open vSwitch on a node, with these options, and returns the message of the pods' check,
/// which has to fail.
#[track_caller]
fn failure(options: &[&str]) -> String {
    let common = ["test", "--engine=OVS", "--node", NODE, "--step-timeout=10"];
    let (status, report) = ask(&[&common[..], options].concat());
    assert_eq!(status, 1, "{report}");
    let pods = of(&report, "podToPod");
    let [pods] = pods.as_slice() else { panic!("{report}") };
    assert_eq!(pods["passed"], false, "{report}");
    println!("{options:?}: {}", text(pods, "message"));
    text(pods, "message").to_owned()
}

/// Waits until all engines and agents work, whatever was stopped before.
fn await_fine() {
    eventually("nothing is wrong", || {
        let (status, report) = ask(&["status"]);
        check(status == 0, report.to_string())
    });
}

#[test]
fn a_test_of_all_nodes_passes_and_leaves_nothing() {
    await_fine();
    let engines: &[&str] = if vpp::moves_packets("kubectl usnet test of VPP") { &["OVS", "VPP"] } else { &["OVS"] };
    for engine in engines {
        let (status, report) = ask(&["test", "--engine", engine]);
        println!("{report}");
        assert_eq!((status, &report["failed"]), (0, &json!(0)), "{report}");
        let tested: Vec<&str> = of(&report, "podToPod").iter().map(|check| text(check, "node")).collect();
        assert_eq!(tested, nodes(), "{report}");
        for kind in ["installation", "isolation", "clean"] {
            assert_eq!(of(&report, kind).len(), 1, "{report}");
        }
        assert_eq!(remains(), Vec::<String>::new());
    }
}

#[test]
fn an_existing_network_can_be_tested_and_stays() {
    let scene = Scene::new("ask-test");
    scene.network("ask-test", &json!({}));
    let answer = usnet(&["test", "--network=ask-test", "--sample=1"]);
    println!("{}{}", answer.stderr, answer.stdout);
    assert_eq!(answer.status, 0, "{answer:?}");
    assert_eq!(answer.stdout.matches("✓ pod to pod    OVS node-").count(), 1, "{answer:?}");
    let rest = format!("; {} not in the sample", nodes().len() - 1);
    assert!(answer.stdout.contains("0 failed") && answer.stdout.contains(&rest), "{answer:?}");
    assert!(get(&["usn", "ask-test"]).is_some());
    assert_eq!(remains(), Vec::<String>::new());
}

#[test]
fn each_problem_is_named() {
    await_fine();
    let scene = Scene::new("ask-broken");
    let message = failure(&[ABSENT]);
    assert!(message.contains("absent:1"), "{message}");

    let foreign = ["--no-wait", "add-br", "br-ask-broken", "--", "set", "bridge", "br-ask-broken"];
    vsctl(NODE, &[&foreign, ["datapath_type=netdev"].as_slice()].concat());
    scene.apply_network("ask-broken", &json!({}));
    kubectl(&["wait", "--for=condition=Stalled", "usn/ask-broken", timeout()]);
    let message = failure(&["--network=ask-broken"]);
    assert!(message.contains("BridgeExists"), "{message}");
    vsctl(NODE, &["--no-wait", "del-br", "br-ask-broken"]);

    let (status, report) = ask(&["test", "--node=absent"]);
    assert!(status == 1 && text(of(&report, "podToPod")[0], "message").contains("no node"), "{report}");
    let (status, report) = ask(&["test", "--network=absent"]);
    assert!(status == 1 && report.to_string().contains("there is no UserspaceNetwork absent"), "{report}");

    run("component", &["stop", "ovsdb-server", NODE]);
    let message = failure(&[]);
    run("component", &["start", "ovsdb-server", NODE]);
    // The agent's report, or what it answers before it has reported.
    assert!(message.contains("Engine") || message.contains("ovsdb-server"), "{message}");
    await_fine();
    assert_eq!(remains(), Vec::<String>::new());
}

#[test]
fn clean_removes_the_objects_of_a_killed_test() {
    await_fine();
    // A pod that never starts: the program waits until it is killed.
    let mut command = Command::new("kubectl");
    command.args(["usnet", "test", "--engine=OVS", "--node", NODE, ABSENT, "--step-timeout=600"]);
    let mut program = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    eventually("its pod waits for the image", || {
        let pods = kubectl(&["get", "pods", "-A", "-l", LABEL, "-o", "name"]);
        check(!pods.is_empty(), pods)
    });
    program.kill().unwrap();
    program.wait().unwrap();
    assert!(remains().len() >= 3, "{:?}", remains());
    let (status, report) = ask(&["test", "--clean"]);
    assert_eq!(status, 0, "{report}");
    assert_eq!(remains(), Vec::<String>::new());
}
