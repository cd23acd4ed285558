//! Changes during an outage of all watchers, which the API server and etcd have compacted: watches
//! get "410 Gone" and start again with a list.

use crate::outages::api_server::{Outage, WATCHED};
use crate::support::cluster::{NODES, apply, check, condition, eventually, get, kubectl, run, timeout, try_run, vsctl};
use crate::support::control_plane::audit;
use crate::support::control_plane::controllers::{
    Controller, NAMESPACE, StoppedProcesses, agent_process, await_both, process,
};
use crate::support::pods::{NODE, sleeping_pod, start};
use crate::support::scene::{Scene, agent_pod, compiled, remains, wait_ready};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use usnet_e2e::kubernetes::control_plane::ETCD;

#[test]
fn changes_during_a_broken_watch_are_found_by_a_new_list() {
    let scene = Scene::new("gap");
    await_both();
    for network in ["gap-kept", "gap-gone", "gap-leaving", "gap-changed"] {
        scene.network(network, &json!({}));
    }
    start(&scene, &sleeping_pod(&scene, "user", "gap-kept"));
    let _foreign = Foreign::make(&scene);
    eventually("the pod is counted", || {
        let observed = get(&["usn", "gap-kept"]).unwrap()["status"]["attachments"].clone();
        check(observed == 1, observed.to_string())
    });
    let (before, controllers) = (untouched(&scene), Controller::all());

    let seen = newest_version();
    // So that what the API server finds when it starts is newer, whatever usnet watches.
    kubectl(&["create", "configmap", "newer", "-n", &scene.name]);
    let outage = Outage::begin();
    // Only now: what the API server had sent before would be read by a watcher that goes on.
    let still = StoppedProcesses::stop(controllers.iter().map(|controller| process(&controller.pod)).collect());
    let still_agents = StoppedProcesses::stop(NODES.into_iter().map(agent_process).collect());
    outage.end();
    change_everything(&scene);
    compact(&newest_version());
    assert_forgotten(&seen);

    let going_on = Timestamp::now().to_string();
    drop(still);
    await_compiled();
    drop(still_agents);
    for network in ["gap-kept", "gap-changed", "gap-new"] {
        wait_ready(network);
    }
    kubectl(&["wait", "--for=delete", "usn/gap-leaving", timeout()]);
    eventually("what was deleted is gone from the nodes", || {
        let left = [remains("gap-gone"), remains("gap-leaving")].concat();
        check(left.is_empty(), format!("{left:?}"))
    });
    for node in NODES {
        assert_eq!(vsctl(node, &["get", "Interface", "br-gap-changed", "mtu_request"]), "1400", "{node}");
    }
    await_lists(&controllers, &going_on);
    assert_eq!(untouched(&scene), before);
    assert_eq!(Controller::all(), controllers, "a controller was restarted");
}

/// What another owner has; gone when the test ends.
struct Foreign;

impl Foreign {
    fn make(scene: &Scene) -> Self {
        vsctl(
            NODE,
            &["--no-wait", "add-br", "foreign-gap", "--", "set", "bridge", "foreign-gap", "datapath_type=netdev"],
        );
        apply(&json!({
            "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
            "metadata": {"name": "somebodys", "namespace": scene.name},
            "spec": {"config": r#"{"cniVersion": "1.0.0", "name": "somebodys", "type": "macvlan"}"#},
        }));
        Self
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _is_gone =
            try_run("on-node", &[NODE, "ovs-vsctl", "--no-wait", "--if-exists", "del-br", "foreign-gap"], "");
    }
}

/// What no object of the gap speaks of: the network with a pod and what is there for it, and what
/// is not owned by usnet.
fn untouched(scene: &Scene) -> Vec<String> {
    let kept = get(&["usn", "gap-kept"]).unwrap();
    let definition = |name: &str| get(&["net-attach-def", name, "-n", &scene.name]).unwrap()["metadata"].take();
    let port = vsctl(NODE, &["list-ports", "br-gap-kept"]);
    vec![
        condition(&kept, "Ready").unwrap()["lastTransitionTime"].to_string(),
        kept["status"]["attachments"].to_string(),
        definition("gap-kept")["uid"].to_string(),
        definition("somebodys")["resourceVersion"].to_string(),
        vsctl(NODE, &["get", "Bridge", "br-gap-kept", "_uuid"]),
        vsctl("node-b", &["get", "Bridge", "br-gap-kept", "_uuid"]),
        vsctl(NODE, &["get", "Interface", &port, "_uuid", "ofport"]),
        vsctl(NODE, &["list", "Bridge", "foreign-gap"]),
    ]
}

fn newest_version() -> String {
    // Not with `get`, which makes a list of its own.
    let list: Value = serde_json::from_str(&kubectl(&["get", "--raw", &format!("/{}", WATCHED[0].0)])).unwrap();
    list["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

/// Networks come, change, go in good order, and go without the controller.
fn change_everything(scene: &Scene) {
    kubectl(&["delete", "usn", "gap-gone", "gap-leaving", "--wait=false"]);
    kubectl(&["patch", "usn", "gap-gone", "--type=merge", "--patch", r#"{"metadata": {"finalizers": null}}"#]);
    assert!(get(&["usn", "gap-gone"]).is_none(), "a component still waits for it");
    scene.apply_network("gap-changed", &json!({"bridge": {"mtu": 1400}}));
    scene.apply_network("gap-new", &json!({}));
}

/// Takes from etcd how things were before that version.
fn compact(version: &str) {
    let (url, body) = (format!("http://{ETCD}/v3/kv/compaction"), json!({"revision": version}).to_string());
    run("curl", &["--silent", "--show-error", "--fail", "--max-time", "10", "--data", &body, &url]);
}

/// A watch from that version gets "410 Gone", whatever it watches. It comes as an event of the
/// watch, so that the audit log has it as success.
fn assert_forgotten(version: &str) {
    for (path, _) in WATCHED {
        let reported =
            kubectl(&["get", "--raw", &format!("/{path}?watch=1&resourceVersion={version}&timeoutSeconds=5")]);
        let event: Value =
            serde_json::from_str(&reported).unwrap_or_else(|error| panic!("{path}: {error}: {reported}"));
        assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)), "{path}: {reported}");
    }
}

/// Waits until the controller has written for the agents what should be there now, and nothing
/// else.
fn await_compiled() {
    eventually("the controller has compiled every change", || {
        let all = ["gap-kept", "gap-new", "gap-changed", "gap-gone", "gap-leaving"].map(compiled);
        let is_leaving = |spec: &Option<Value>| spec.as_ref().is_none_or(|spec| spec["phase"] == "Draining");
        let (stay, leave) = all.split_at(3);
        let is_changed = stay[2].as_ref().is_some_and(|spec| spec["bridge"]["mtu"] == 1400);
        let holds = is_changed && !stay.iter().any(is_leaving) && leave.iter().all(is_leaving);
        check(holds, format!("{all:?}"))
    });
}

/// A watch begins with a list only at first and when it cannot go on from where it was.
fn await_lists(controllers: &[Controller], since: &str) {
    let await_list = |pod: &str, path: &str| {
        let resource = path.rsplit('/').next().unwrap();
        let is_it = |event: &Value| event["verb"] == "list" && audit::resource(event) == resource;
        eventually(&format!("{pod} lists {resource} again"), || {
            let is_listed = audit::since(since).iter().any(|event| audit::is_from(event, pod) && is_it(event));
            check(is_listed, kubectl(&["logs", pod, "-n", NAMESPACE]))
        });
    };
    for controller in controllers {
        WATCHED.into_iter().for_each(|(path, _)| await_list(&controller.pod, path));
    }
    for node in NODES {
        ["compilednetworks", "userspacenodestates"].iter().for_each(|resource| await_list(&agent_pod(node), resource));
    }
}
