//! Each test makes one mistake, and checks the cause that is found. Without the mistake there is
//! none.
//!
//! - [`annotations`]: mistakes in the annotation, and texts of other programs;
//! - [`programs`]: programs that are not connected;
//! - [`claims`]: resource claims and UserspaceAttachments;
//! - [`rights`]: users who may read little.

mod annotations;
mod claims;
mod programs;
mod rights;

use super::report;
use crate::commands::explain::finding::Report;
use crate::commands::explain::text::text;
use crate::model::snapshot::Event;
use crate::model::testing::{
    add, add_network, attached, compiled_object, condition, definition_object, merge, network_object, network_report,
    node_object, pod_object, snapshot, state_object, usnet_pod,
};
use crate::model::{Objects, Snapshot};
use serde_json::{Value, json};

const NETWORKS: &str = "k8s.v1.cni.cncf.io/networks";

/// Network blue, and pod web/app that waits for its containers.
fn cluster() -> Snapshot {
    let mut snapshot = snapshot();
    add_network(&mut snapshot, &network_object("blue", &json!({})));
    snapshot.unread_objects.clear();
    snapshot
}

/// Explains this pod, which is the only one in the snapshot.
fn explain(snapshot: &mut Snapshot, pod: &Value) -> Report {
    snapshot.pods.clear();
    add(snapshot, pod);
    report(snapshot, &snapshot.pods[0])
}

/// The causes with which usnet has done its part.
const WARNINGS: &[&str] = &["NotConnected", "MountUnusable"];

#[track_caller]
fn check(snapshot: &mut Snapshot, pod: &Value, cause: &str, words: &[&str]) {
    let report = explain(snapshot, pod);
    let causes: Vec<_> = report.findings.iter().map(|finding| finding.cause.as_str()).collect();
    assert_eq!(causes, [cause], "{}", text(&report));
    assert_eq!(report.is_ok(), WARNINGS.contains(&cause), "{}", text(&report));
    for word in words {
        assert!(text(&report).contains(word), "no {word:?} in\n{}", text(&report));
    }
}

fn waiting() -> Value {
    pod_object("app", &json!({}))
}

fn selecting(networks: &str) -> Value {
    pod_object("app", &json!({"metadata": {"annotations": {NETWORKS: networks}}}))
}

fn sandbox_failed(snapshot: &mut Snapshot, message: &str) {
    let message =
        format!("Failed to create pod sandbox: plugin type=\"multus-shim\" failed (add): [web/app/u:blue]: {message}");
    let reason = "FailedCreatePodSandBox".to_owned();
    snapshot.events.push(Event { reason, message, is_warning: true, time: None, count: 9 });
}

#[test]
fn a_pod_without_a_mistake_has_no_cause() {
    let mut snapshot = cluster();
    check(&mut snapshot, &waiting(), "Starting", &["created 10m ago", "log of the kubelet on node node-a"]);
    add(
        &mut snapshot,
        &state_object(
            "node-a",
            &json!([network_report("blue", "Programmed", &json!({"attachments": 1, "connected": 1}))]),
        ),
    );
    let report = explain(&mut snapshot, &pod_object("app", &attached()));
    assert_eq!(report.findings, []);
    assert_eq!(
        report.parts.rows,
        [["net1", "blue", "web/blue", "Open vSwitch VhostUser", "attached, program connected"].map(str::to_owned)]
    );
}

#[test]
fn namespace_without_the_label() {
    let mut snapshot = cluster();
    snapshot.definitions.clear();
    add(&mut snapshot, &json!({"kind": "Namespace", "metadata": {"name": "web"}}));
    check(&mut snapshot, &waiting(), "NamespaceNotSelected", &["kubectl label namespace web team=a"]);
}

#[test]
fn misspelt_network() {
    check(&mut cluster(), &selecting("bleu"), "UnknownNetwork", &["UserspaceNetwork bleu", "write blue if"]);
}

#[test]
fn definition_of_a_network_that_does_not_exist() {
    let mut snapshot = cluster();
    let mut definition = definition_object("web", "other");
    merge(&mut definition, &json!({"metadata": {"ownerReferences": null, "labels": null}}));
    add(&mut snapshot, &definition);
    check(&mut snapshot, &selecting("other"), "UnknownNetwork", &["web/other names UserspaceNetwork other"]);
}

#[test]
fn no_volume() {
    let pod = pod_object(
        "app",
        &json!({"spec": {"volumes": []}, "metadata": {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "app", "uid": "s"}]}}),
    );
    check(&mut cluster(), &pod, "NoVolume", &["in StatefulSet app", "emptyDir: {}", "mountPath: /run/usnet"]);
}

#[test]
fn the_volume_that_the_network_names() {
    let mut snapshot = cluster();
    add_network(&mut snapshot, &network_object("blue", &json!({"port": {"volume": "hooks"}})));
    let missing = ["no emptyDir volume \"hooks\"", "volumes: [{name: hooks, emptyDir: {}}]"];
    check(&mut snapshot, &pod_object("app", &json!({})), "NoVolume", &missing);
    let hidden = json!({"spec": {"volumes": [{"name": "hooks", "emptyDir": {}}]}});
    check(&mut snapshot, &pod_object("app", &hidden), "VolumeNotMounted", &["volumeMounts: [{name: hooks,"]);
}

#[test]
fn volume_of_another_kind() {
    let pod = pod_object("app", &json!({"spec": {"volumes": [{"name": "usnet", "hostPath": {"path": "/x"}}]}}));
    check(&mut cluster(), &pod, "VolumeNotEmptyDir", &["is not an emptyDir"]);
}

#[test]
fn volume_without_a_mount() {
    let containers = json!({"spec": {"containers": [{"name": "app", "image": "app:1"}]}});
    check(&mut cluster(), &pod_object("app", &containers), "VolumeNotMounted", &["mountPath: /run/usnet"]);
    let mut veth = cluster();
    add_network(&mut veth, &network_object("blue", &json!({"port": {"type": "Veth"}})));
    let mut running = attached();
    merge(&mut running, &containers);
    assert_eq!(explain(&mut veth, &pod_object("app", &running)).findings, [], "a device needs no volume");
}

#[test]
fn mounts_that_do_not_allow_a_program_to_create_the_socket() {
    let mounted = |mounts: Value| {
        let containers = json!([{"name": "app", "image": "app:1", "volumeMounts": mounts}]);
        let mut pod = attached();
        merge(&mut pod, &json!({"spec": {"containers": containers}}));
        pod_object("app", &pod)
    };
    let mount = |rest: Value| {
        let mut mount = json!({"name": "usnet", "mountPath": "/run/usnet"});
        merge(&mut mount, &rest);
        mount
    };
    let whole = mount(json!({}));
    for (part, why) in [
        (json!({"subPath": "data"}), "container app mounts subPath \"data\" of volume \"usnet\""),
        (json!({"subPathExpr": "$(POD_NAME)"}), "subPath \"$(POD_NAME)\""),
        (json!({"readOnly": true}), "container app mounts volume \"usnet\" with readOnly"),
    ] {
        let pod = mounted(json!([mount(part.clone())]));
        check(&mut cluster(), &pod, "MountUnusable", &[why, "mount the whole volume"]);
        let beside = mounted(json!([mount(part), whole]));
        assert_eq!(explain(&mut cluster(), &beside).findings, [], "another mount can be used");
    }
    let mut server = cluster();
    let port = json!({"type": "VhostUser", "vhostUser": {"engineRole": "Server"}});
    add_network(&mut server, &network_object("blue", &json!({"engine": "VPP", "port": port})));
    let read_only = mounted(json!([mount(json!({"readOnly": true}))]));
    assert_eq!(explain(&mut server, &read_only).findings, [], "the program connects to a socket of VPP");
}

#[test]
fn a_static_pod_is_found_by_the_uid_on_its_node() {
    let mut snapshot = cluster();
    let degraded = json!([{"pod": "web/app", "uid": "0123abcd", "interface": "net1", "reason": "NotConnected", "message": "it has to listen"}]);
    let report = network_report("blue", "Programmed", &json!({"attachments": 1, "degraded": degraded}));
    add(&mut snapshot, &state_object("node-a", &json!([report])));
    let mut pod = attached();
    let copy = json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "0123abcd", "kubernetes.io/config.hash": "0123abcd"}}});
    merge(&mut pod, &copy);
    check(&mut snapshot, &pod_object("app", &pod), "NotConnected", &["attached, program not connected"]);
}

#[test]
fn program_on_the_wrong_side() {
    let mut snapshot = cluster();
    let degraded = json!([{"pod": "web/app", "uid": "uid of app", "interface": "net1", "reason": "NotConnected", "message": "interface net1: Open vSwitch connects, and the program has to listen on net1.sock"}]);
    add(
        &mut snapshot,
        &state_object(
            "node-a",
            &json!([network_report("blue", "Programmed", &json!({"attachments": 1, "degraded": degraded}))]),
        ),
    );
    check(
        &mut snapshot,
        &pod_object("app", &attached()),
        "NotConnected",
        &["has to listen on net1.sock. The socket is /run/usnet/net1.sock in container app", "program not connected"],
    );
}

#[test]
fn a_file_at_the_path_of_the_socket() {
    let mut snapshot = cluster();
    let degraded = json!([{"pod": "web/app", "uid": "uid of app", "interface": "net1", "reason": "SocketUnusable", "message": "a directory is at its path"}]);
    add(
        &mut snapshot,
        &state_object(
            "node-a",
            &json!([network_report("blue", "Programmed", &json!({"attachments": 1, "degraded": degraded}))]),
        ),
    );
    check(&mut snapshot, &pod_object("app", &attached()), "SocketUnusable", &["remove what the pod has left"]);
}

#[test]
fn node_that_the_network_does_not_select() {
    let mut snapshot = cluster();
    add_network(&mut snapshot, &network_object("blue", &json!({"nodeSelector": {"matchLabels": {"rack": "b"}}})));
    check(
        &mut snapshot,
        &waiting(),
        "NodeNotSelected",
        &["\"rack=b\" is required, and label rack of the node is \"a\""],
    );
}

#[test]
fn engine_that_the_node_does_not_have() {
    let mut snapshot = cluster();
    let mut state = state_object("node-a", &json!([]));
    state["status"]["conditions"][1] =
        condition("OVSConnected", "False", "NeverSeen", "no socket /run/openvswitch/db.sock");
    add(&mut snapshot, &state);
    check(&mut snapshot, &waiting(), "EngineNeverSeen", &["start Open vSwitch on node node-a", "db.sock"]);
}

#[test]
fn engine_that_ended() {
    let mut snapshot = cluster();
    let mut state = state_object("node-a", &json!([]));
    state["status"]["conditions"][1] = condition("OVSConnected", "False", "Disconnected", "connection refused");
    add(&mut snapshot, &state);
    check(&mut snapshot, &waiting(), "EngineUnreachable", &["start ovsdb-server and ovs-vswitchd on the node"]);
    check(&mut snapshot, &pod_object("app", &attached()), "EngineUnreachable", &["net1, network blue"]);
}

#[test]
fn rejected_network() {
    let mut snapshot = snapshot();
    let mut network = network_object("blue", &json!({"bridge": {"mtu": 1}}));
    network["status"]["conditions"][1] = condition("Accepted", "False", "Invalid", "spec.bridge.mtu is 1");
    add(&mut snapshot, &network);
    check(&mut snapshot, &waiting(), "NetworkRejected", &["spec.bridge.mtu is 1", "correct the field"]);
}

#[test]
fn network_that_fails_on_the_node() {
    let mut snapshot = cluster();
    let failed = network_report(
        "blue",
        "Failed",
        &json!({"reason": "BridgeExists", "message": "bridge br-blue is not owned by usnet"}),
    );
    add(&mut snapshot, &state_object("node-a", &json!([failed])));
    check(&mut snapshot, &waiting(), "BridgeExists", &["br-blue is not owned", "remove the bridge"]);
}

#[test]
fn network_that_is_being_deleted() {
    let mut snapshot = cluster();
    let mut network = network_object("blue", &json!({}));
    network["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:40:00Z");
    add_network(&mut snapshot, &network);
    check(&mut snapshot, &waiting(), "NetworkDeleting", &["accepts no new pods"]);
}

#[test]
fn definition_of_another_plugin() {
    let mut snapshot = cluster();
    let foreign = json!({"kind": "NetworkAttachmentDefinition", "metadata": {"namespace": "web", "name": "blue"}, "spec": {"config": r#"{"type": "bridge"}"#}});
    add(&mut snapshot, &foreign);
    check(&mut snapshot, &waiting(), "ForeignDefinition", &["web/blue is for another plugin"]);
}

#[test]
fn definition_that_cannot_be_used() {
    let mut snapshot = cluster();
    let invalid = json!({"kind": "NetworkAttachmentDefinition", "metadata": {"namespace": "web", "name": "mine"}, "spec": {"config": r#"{"type": "userspace"}"#}});
    add(&mut snapshot, &invalid);
    check(&mut snapshot, &selecting("mine"), "InvalidDefinition", &["neither \"network\" nor \"host\""]);
}

#[test]
fn definition_that_is_shared() {
    let mut snapshot = cluster();
    snapshot.definitions.clear();
    add(&mut snapshot, &network_object("blue", &json!({"definitions": "Shared"})));
    add(&mut snapshot, &definition_object("usnet-system", "blue"));
    check(&mut snapshot, &waiting(), "SharedDefinition", &["write usnet-system/blue"]);
    check(&mut snapshot, &selecting("usnet-system/blue"), "Starting", &["usnet-system/blue"]);
}

#[test]
fn definition_that_is_not_there_yet() {
    let mut snapshot = cluster();
    snapshot.definitions.clear();
    check(&mut snapshot, &waiting(), "DefinitionMissing", &["the controller creates it"]);
}

#[test]
fn annotation_that_cannot_be_read() {
    check(&mut cluster(), &selecting(r#"{"name": "blue"}"#), "AnnotationInvalid", &["not a JSON list"]);
    check(&mut cluster(), &selecting(""), "NoNetworkSelected", &[NETWORKS]);
}

#[test]
fn no_address_left() {
    let mut snapshot = cluster();
    sandbox_failed(&mut snapshot, "usnet[108 AddressesExhausted]: IPAM plugin host-local has no address left");
    check(
        &mut snapshot,
        &waiting(),
        "AddressesExhausted",
        &["108, 9 times", "has no address left", "extend the ranges"],
    );
}

#[test]
fn port_that_the_engine_refuses() {
    let mut snapshot = cluster();
    sandbox_failed(
        &mut snapshot,
        "usnet[104 PortRejected]: port vhu1 could not be configured: the engine reports \"no memory\"",
    );
    check(&mut snapshot, &waiting(), "PortRejected", &["no memory", "look at its log"]);
}

#[test]
fn pod_in_the_network_of_its_node() {
    check(
        &mut cluster(),
        &pod_object("app", &json!({"spec": {"hostNetwork": true}})),
        "HostNetwork",
        &["no CNI plugin is called"],
    );
}

#[test]
fn no_free_device() {
    let mut snapshot = cluster();
    add_network(&mut snapshot, &network_object("blue", &json!({"devicePlugin": {"devices": 1}})));
    let resources = json!([{"name": "app", "image": "app:1", "resources": {"limits": {"usnet.dev/blue": "1"}}, "volumeMounts": [{"name": "usnet", "mountPath": "/x"}]}]);
    let unscheduled = json!([{"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available: 2 Insufficient usnet.dev/blue."}]);
    let pod = json!({"spec": {"nodeName": null, "containers": resources}, "status": {"conditions": unscheduled, "containerStatuses": null}});
    check(
        &mut snapshot,
        &pod_object("app", &pod),
        "NoFreeDevice",
        &["2 Insufficient usnet.dev/blue", "devicePlugin.devices"],
    );
}

#[test]
fn no_node_for_other_reasons() {
    let unscheduled = json!([{"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available: 2 Insufficient hugepages-2Mi."}]);
    let pod = json!({"spec": {"nodeName": null}, "status": {"conditions": unscheduled, "containerStatuses": null}});
    check(&mut cluster(), &pod_object("app", &pod), "NotScheduled", &["hugepages-2Mi"]);
}

#[test]
fn network_added_to_a_running_pod() {
    let mut pod = pod_object("app", &attached());
    pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/network-status"] =
        json!(r#"[{"name": "cbr0", "interface": "eth0"}]"#);
    check(&mut cluster(), &pod, "SelectedLater", &["create the pod again"]);
    pod["metadata"]["annotations"].as_object_mut().unwrap().remove("k8s.v1.cni.cncf.io/network-status");
    check(&mut cluster(), &pod, "NoMultus", &["/etc/cni/net.d"]);
}

#[test]
fn plugin_that_is_not_installed() {
    let mut snapshot = cluster();
    sandbox_failed(&mut snapshot, "failed to find plugin \"userspace\" in path [/usr/libexec/cni]");
    check(&mut snapshot, &waiting(), "PluginMissing", &["/usr/libexec/cni", "bin_dir"]);
}

#[test]
fn node_without_an_agent() {
    let mut snapshot = cluster();
    snapshot.usnet_pods = vec![usnet_pod("agent", "node-b")];
    check(&mut snapshot, &waiting(), "NoAgent", &["node node-a has no agent"]);
}

#[test]
fn node_that_has_not_programmed_the_network_yet() {
    let mut snapshot = cluster();
    let mut state = state_object("node-a", &json!([]));
    state["status"]["programmedThrough"] = json!("10");
    add(&mut snapshot, &state);
    check(&mut snapshot, &waiting(), "NetworkPending", &["not programmed on node node-a yet"]);
    let mut node = node_object("node-a");
    node["status"]["conditions"][0]["status"] = json!("Unknown");
    add(&mut snapshot, &node);
    check(&mut snapshot, &waiting(), "NodeNotReady", &["the node is NotReady"]);
}

#[test]
fn program_that_does_not_start() {
    let mut pod = pod_object("app", &attached());
    pod["status"]["containerStatuses"][0]["state"] = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    check(
        &mut cluster(),
        &pod,
        "ProgramNotRunning",
        &["CrashLoopBackOff", "kubectl logs -n web app -c app --previous"],
    );
}

#[test]
fn nothing_is_concluded_from_what_cannot_be_read() {
    let mut snapshot = cluster();
    snapshot.definitions.clear();
    snapshot.usnet_pods.clear();
    snapshot.cache.namespaces.clear();
    for (part, what) in
        [(Objects::Definitions, "definitions"), (Objects::UsnetPods, "pods"), (Objects::Namespaces, "namespaces")]
    {
        snapshot.mark_unread(part, what, "you may not read them");
    }
    check(&mut snapshot, &waiting(), "Starting", &["NOT READ"]);
    sandbox_failed(&mut snapshot, "cannot find a network-attachment-definition (blue) in namespace (web)");
    check(&mut snapshot, &waiting(), "DefinitionMissing", &["cannot find a network-attachment-definition"]);
}

#[test]
fn each_interface_of_usnet_has_its_own_cause() {
    let mut snapshot = cluster();
    let foreign = json!({"kind": "NetworkAttachmentDefinition", "metadata": {"namespace": "web", "name": "mac"}, "spec": {"config": r#"{"type": "macvlan"}"#}});
    add(&mut snapshot, &foreign);
    let green = network_object("green", &json!({"nodeSelector": {"matchLabels": {"rack": "b"}}}));
    add_network(&mut snapshot, &green);
    assert_eq!(compiled_object(&green)["spec"]["nodeSelector"]["matchLabels"]["rack"], "b");
    let report = explain(&mut snapshot, &selecting("blue,mac,green@fast,oops"));
    let found: Vec<_> = report.findings.iter().map(|it| (it.cause.as_str(), it.subject.as_str())).collect();
    assert_eq!(found, [("NodeNotSelected", "fast, network green"), ("UnknownNetwork", "net4, network oops")]);
    let states: Vec<_> = report.parts.rows.iter().map(|row| row[4].as_str()).collect();
    assert_eq!(
        states,
        ["not attached", "not of usnet", "not attached: NodeNotSelected", "not attached: UnknownNetwork"]
    );
}
