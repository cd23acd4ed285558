//! `kubectl usnet plan`: a plan is what happens afterwards, and changes nothing itself.

mod changes;

use super::{list, text};
use crate::support::cluster::{check, eventually, get, nodes, vsctl};
use crate::support::control_plane::audit;
use crate::support::kubectl_usnet::{ask, usnet, usnet_with_input};
use crate::support::pods::{NODE, sleeping_pod, start};
use crate::support::scene::Scene;
use serde_json::{Value, json};

const NETWORK: &str = "ask-plan";

/// The exit status and the plan for a manifest.
fn plan(manifest: &Value) -> (i32, Value) {
    let answer = usnet_with_input(&["plan", "-f", "-", "-o", "json"], &manifest.to_string());
    let mut report = answer.report();
    assert_eq!(report["notRead"], Value::Null, "{report}");
    (answer.status, report["networks"][0].take())
}

/// The plans for a folder with this manifest, and for one with a kustomization.
fn plan_of_folder(manifest: &Value) -> [Value; 2] {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    write("network.yaml", manifest.to_string());
    let path = folder.path().to_str().unwrap();
    let planned = |option: &str| usnet(&["plan", option, path, "-o", "json"]).report()["networks"][0].take();
    let of_folder = planned("-f");
    write("kustomization.yaml", json!({"resources": ["network.yaml"]}).to_string());
    [of_folder, planned("-k")]
}

/// Returns the objects of users and controllers, and the state of Open vSwitch on all nodes.
///
/// Without what is being deleted: no test waits for the end of its namespace.
fn everything() -> Vec<String> {
    let objects = get(&["usn,ucn,usu,net-attach-def,namespaces", "-A"]).unwrap();
    let is_deleted = |object: &&Value| !object["metadata"]["deletionTimestamp"].is_null();
    let namespaces = list(&objects, "items").iter().filter(|object| object["kind"] == "Namespace");
    let deleted: Vec<&Value> = namespaces.filter(is_deleted).map(|namespace| &namespace["metadata"]["name"]).collect();
    let kept = list(&objects, "items").iter().filter(|object| {
        let namespace = &object["metadata"]["namespace"];
        !is_deleted(object) && !deleted.contains(&namespace)
    });
    let identity = |object: &Value| {
        let field = |field: &str| &object["metadata"][field];
        let [namespace, name, uid, generation] = ["namespace", "name", "uid", "generation"].map(field);
        format!("{} {namespace} {name} {uid} {generation}", object["kind"])
    };
    let interfaces = ["--columns=_uuid,name,mtu_request,ofport", "list", "Interface"];
    let of_node = |node: &str| [vsctl(node, &["show"]), vsctl(node, &interfaces)];
    kept.map(identity).chain(nodes().into_iter().flat_map(of_node)).collect()
}

/// Changes since then that `kubectl usnet` was allowed, and that were not only to be evaluated.
fn changes_since(time: &str) -> Vec<Value> {
    let is_of_plugin = |event: &Value| {
        let agent = event["userAgent"].as_str().unwrap_or_default();
        let user = event["user"]["username"].as_str().unwrap_or_default();
        !agent.starts_with("kubectl/") && !user.starts_with("system:")
    };
    let is_evaluated = |event: &Value| event["requestURI"].as_str().unwrap().contains("dryRun=All");
    let mut events = audit::since(time);
    events.retain(|event| is_of_plugin(event) && audit::is_write(event));
    assert!(events.iter().any(is_evaluated), "the plugin did not ask the API server, or this looks for others");
    events.retain(|event| !is_evaluated(event));
    events
}

/// Operations in the form in which `history` has them, without the pod or container that they are
/// of.
fn operations(node: &Value) -> Vec<&str> {
    let operations = list(node, "operations").iter().map(|operation| operation.as_str().unwrap());
    operations.map(|operation| operation.split(" of net1 of pod").next().unwrap()).collect()
}

/// A plan names the pods that nodes have reported.
fn await_report() {
    eventually("the pod is reported", || {
        let status = get(&["usn", NETWORK]).ok_or("no network")?["status"].take();
        check(status["attachments"] == 1, status.to_string())
    });
}

/// What was planned was done, because of the new spec.
fn assert_done(change: &Value) {
    let (_, history) = ask(&["history", "--network", NETWORK]);
    for node in list(change, "nodes") {
        for operation in operations(node) {
            let is_it =
                |entry: &&Value| entry["node"] == node["node"] && text(entry, "operation").starts_with(operation);
            let done = list(&history, "changes").iter().find(is_it);
            let done = done.unwrap_or_else(|| panic!("{operation} is not in {history}"));
            assert_eq!((&done["why"], &done["result"]), (&json!("NewSpec"), &json!("Done")), "{done}");
        }
    }
}

#[test]
fn a_plan_changes_nothing_and_is_what_happens_afterwards() {
    let scene = Scene::new(NETWORK);
    let spec = json!({"bridge": {"mtu": 1500}, "port": {"type": "Veth"}});
    scene.network(NETWORK, &spec);
    start(&scene, &sleeping_pod(&scene, "user", NETWORK));
    await_report();
    let begun = get(&["pod", "user", "-n", NETWORK]).unwrap();
    let begun = text(&begun["metadata"], "creationTimestamp");
    let before = everything();

    let (status, same) = plan(&scene.manifest(NETWORK, &spec));
    assert_eq!((status, &same["fields"], &same["nodes"]), (0, &json!([]), &json!([])), "{same}");

    let changed = json!({"bridge": {"mtu": 1400}, "port": {"type": "Veth", "vlan": {"mode": "Access", "tag": 7}}});
    let (status, change) = plan(&scene.manifest(NETWORK, &changed));
    assert_eq!((status, list(&change, "nodes").len()), (1, nodes().len()), "{change}");
    for node in list(&change, "nodes") {
        let is_of_pod = node["node"] == NODE;
        let pods = if is_of_pod { json!(["ask-plan/user"]) } else { json!([]) };
        assert_eq!(
            (&node["effect"], &node["pods"], &node["problem"]),
            (&json!("Changed"), &pods, &Value::Null),
            "{node}"
        );
        assert_eq!(operations(node).len(), if is_of_pod { 2 } else { 1 }, "{node}");
        assert_eq!(node["changes"][0], "set MTU 1400 of bridge br-ask-plan", "{node}");
    }
    assert_eq!(plan_of_folder(&scene.manifest(NETWORK, &changed)), [change.clone(), change.clone()]);

    let (status, new) = plan(&scene.manifest("ask-plan-new", &json!({})));
    assert_eq!((status, &new["isNew"], &new["definitionsAdded"]), (1, &json!(true), &json!([NETWORK])), "{new}");
    let creates = |node: &Value| operations(node)[0].starts_with("create bridge br-ask-plan-new");
    assert!(list(&new, "nodes").iter().all(creates) && list(&new, "nodes").len() == nodes().len(), "{new}");

    let other_engine = json!({"engine": "VPP", "bridge": {"mtu": 1500}, "port": {"type": "Veth"}});
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.56.32.0/24"}]]});
    let unsafe_addresses = json!({"topology": {"type": "Overlay", "overlay": {}}, "ipam": ipam});
    for (network, spec, reason) in
        [(NETWORK, other_engine, "RejectedByApiServer"), ("ask-plan-new", unsafe_addresses, "AddressesNotUnique")]
    {
        let (status, rejected) = plan(&scene.manifest(network, &spec));
        assert!(status == 7 && text(&rejected, "rejected").starts_with(reason), "{status}: {rejected}");
    }
    assert_eq!(everything(), before);
    assert_eq!(changes_since(begun), Vec::<Value>::new());

    scene.network(NETWORK, &changed);
    assert_done(&change);
}
