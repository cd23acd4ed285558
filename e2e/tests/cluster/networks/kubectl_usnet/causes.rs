//! `kubectl usnet status` and `explain`: problems and their causes.

use super::{list, text};
use crate::support::cluster::{apply, check, eventually, get, kubectl, nodes, timeout, vsctl};
use crate::support::kubectl_usnet::{ask, usnet};
use crate::support::pods::{pod_without_volume, sleeping_pod, start};
use crate::support::scene::{Scene, wait_ready};
use serde_json::{Value, json};

/// Waits until nothing is wrong: what earlier tests have stopped may still be on its way back.
fn await_fine() -> Value {
    eventually("nothing is wrong", || {
        let (status, report) = ask(&["status"]);
        check(status == 0, report.to_string())?;
        Ok(report)
    })
}

#[test]
fn the_status_names_a_stalled_network_with_its_node_and_nothing_else() {
    let scene = Scene::new("ask-status");
    scene.network("ask-fine", &json!({}));
    let report = await_fine();
    let of_nodes = json!({"ready": nodes().len(), "total": nodes().len()});
    assert_eq!((&report["agents"], &report["nodes"]), (&of_nodes, &of_nodes), "{report}");
    assert_eq!(report["controllers"], json!({"ready": 2, "total": 2}));
    assert!(report["networks"]["ready"].as_u64() > Some(0), "{report}");
    let open_vswitch = list(&report, "engines").iter().find(|entry| entry["engine"] == "OVS").unwrap();
    let versions = open_vswitch["versions"].as_object().unwrap();
    assert_eq!(versions.values().filter_map(Value::as_u64).sum::<u64>(), nodes().len() as u64, "{open_vswitch}");
    assert!(usnet(&["status"]).stdout.contains("Nothing is wrong."));

    let foreign = ["--no-wait", "add-br", "br-ask-stalled", "--", "set", "bridge", "br-ask-stalled"];
    vsctl("node-b", &[&foreign, ["datapath_type=netdev"].as_slice()].concat());
    scene.apply_network("ask-stalled", &json!({}));
    kubectl(&["wait", "--for=condition=Stalled", "usn/ask-stalled", timeout()]);
    let (status, report) = ask(&["status"]);
    let [problem] = list(&report, "needsAction").as_slice() else { panic!("{report}") };
    let found = ["subject", "reason"].map(|field| text(problem, field));
    assert_eq!((status, found), (1, ["network ask-stalled", "BridgeExists"]), "{report}");
    assert_eq!((&problem["nodes"], &report["nodes"]), (&json!(["node-b"]), &of_nodes), "the nodes themselves work");
    assert!(text(problem, "message").contains("bridge br-ask-stalled already exists"), "{problem}");
    assert_eq!(report["networks"]["stalled"], 1, "{report}");
    for (subject, status) in
        [("network ask-stalled", 1), ("network ask-fine", 0), ("node node-b", 1), ("node node-a", 0)]
    {
        let (kind, name) = subject.split_once(' ').unwrap();
        let (found, report) = ask(&["explain", kind, name]);
        assert_eq!(found, status, "{subject}: {report}");
        let is_named = list(&report, "findings").iter().any(|finding| finding["cause"] == "BridgeExists");
        assert_eq!(is_named, status == 1, "{subject}: {report}");
    }
    let graph = usnet(&["graph", "ask-stalled"]).stdout;
    assert!(graph.contains("node-b Failed: BridgeExists") && graph.contains("node-a Programmed"), "{graph}");
    let picture = usnet(&["graph", "ask-stalled", "-o", "svg"]).stdout;
    assert!(picture.contains("class=\"problem\"") && picture.contains(">BridgeExists<"), "{picture}");

    vsctl("node-b", &["--no-wait", "del-br", "br-ask-stalled"]);
    wait_ready("ask-stalled");
    await_fine();
}

/// The cause of the only interface of a pod.
fn cause(pod: &str) -> Option<Value> {
    let (status, report) = ask(&["explain", "pod", pod]);
    let findings = list(&report, "findings");
    assert_eq!(
        (status, findings.len()),
        (i32::from(!findings.is_empty()), usize::from(!findings.is_empty())),
        "{report}"
    );
    findings.first().cloned()
}

#[test]
fn a_pod_that_does_not_start_is_explained_and_one_that_works_is_not() {
    let scene = Scene::new("ask-pod");
    let other = Scene::new("ask-other");
    scene.network("ask-pod", &json!({"port": {"type": "VhostUser"}}));
    scene.network("ask-veth", &json!({"port": {"type": "Veth"}}));
    start(&scene, &sleeping_pod(&scene, "works", "ask-veth"));
    apply(&pod_without_volume(&scene, "bare", "ask-pod"));
    apply(&sleeping_pod(&scene, "typo", "ask-pood"));
    apply(&sleeping_pod(&other, "outside", "ask-pod"));
    scene.await_refusal("bare", &["NoVolume"]);
    scene.await_refusal("typo", &["ask-pood"]);

    assert_eq!(cause("ask-pod/works"), None);
    let found = cause("ask-pod/bare").unwrap();
    assert_eq!(found["cause"], "NoVolume");
    assert!(text(&found, "remedy").contains("volumes: [{name: usnet, emptyDir: {}}]"), "{found}");
    let found = cause("ask-pod/typo").unwrap();
    assert!(found["cause"] == "UnknownNetwork" && found.to_string().contains("ask-pod"), "{found}");
    let found = cause("outside").unwrap();
    assert!(found["cause"] == "NamespaceNotSelected" && found.to_string().contains("scene=ask-pod"), "{found}");

    let (status, report) = ask(&["pods", "ask-pod"]);
    let waiting: Vec<&str> = list(&report, "waiting").iter().map(|entry| text(entry, "pod")).collect();
    assert_eq!((status, waiting), (1, vec!["ask-other/outside", "ask-pod/bare"]), "{report}");
    let (status, report) = ask(&["pods", "ask-veth"]);
    assert_eq!((status, list(&report, "interfaces").len()), (0, 1), "{report}");
    assert_eq!(get(&["pod", "bare", "-n", &scene.name]).unwrap()["status"]["phase"], "Pending");
}
