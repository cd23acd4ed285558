//! Mistakes in the annotation, and those that only other programs report: with the texts of Multus
//! 4.3, containerd, and Kubernetes 1.36.

use super::{NETWORKS, check, cluster, explain, sandbox_failed, selecting, waiting};
use crate::commands::explain::text::text;
use crate::model::snapshot::Event;
use crate::model::testing::{
    add, add_network, attached, definition_object, merge, network_object, pod_object, state_object,
};
use serde_json::{Value, json};

/// One element for blue with this field.
fn with(field: &str) -> String {
    format!(r#"[{{"name": "blue", {field}}}]"#)
}

#[test]
fn fields_of_a_wrong_type_or_value_say_what_to_write() {
    for (field, words) in [
        (
            r#""bandwidth": {"ingressRate": "10M"}"#,
            ["bandwidth.ingressRate is \"10M\"", "write \"ingressRate\": 10000000"],
        ),
        (r#""bandwidth": {"egressRate": 1.5}"#, ["bandwidth.egressRate is 1.5", "in bits per second"]),
        (r#""portMappings": "8080:80""#, ["portMappings is \"8080:80\", and not a list", "remove portMappings"]),
        (r#""bandwidth": "10M""#, ["bandwidth is \"10M\", and not an object", "\"ingressRate\": 10000000"]),
        (r#""ips": "10.56.217.7""#, ["ips is \"10.56.217.7\", and not a list", "write \"ips\": [\"10.56.217.5/24\"]"]),
        (r#""ips": ["10.56.217.777"]"#, ["\"10.56.217.777\" in ips is not an IP address", "correct ips"]),
        (r#""mac": "02:00:00""#, ["mac \"02:00:00\" is not the MAC address", "six pairs"]),
        (r#""mac": 7"#, ["mac is not text", "write mac in quotes"]),
        (r#""default-route": "10.0.0.1""#, ["default-route is \"10.0.0.1\", and not a list", "[\"10.56.217.1\"]"]),
    ] {
        check(&mut cluster(), &selecting(&with(field)), "AnnotationInvalid", &words);
    }
    check(&mut cluster(), &selecting("Blue"), "AnnotationInvalid", &["\"Blue\" is not a name", "write blue if"]);
    check(&mut cluster(), &selecting("blue,"), "AnnotationInvalid", &["element 2 is \"\"", "NAMESPACE/NAME@INTERFACE"]);
}

#[test]
fn names_of_interfaces_that_cannot_be_used() {
    let long = "blue@abcdefghijklmnopqrstuvwxyz";
    for (networks, words) in [
        ("blue@eth0", ["eth0 is an interface that every pod has", "use another name, such as net1"]),
        (long, ["at most 15 characters, and abcdefghijklmnopqrstuvwxyz has 26", "use another name"]),
        ("blue@-x", ["\"-x\" is not the name of an interface", "use another name"]),
    ] {
        check(&mut cluster(), &selecting(networks), "InterfaceNameInvalid", &words);
    }
    let twice = "blue,blue@net1";
    check(
        &mut cluster(),
        &selecting(twice),
        "InterfaceNameTwice",
        &["an earlier element has interface net1", "a name of its own"],
    );
}

#[test]
fn two_default_routes_of_one_family() {
    let route = |route: &str| format!(r#"{{"name": "blue", "default-route": ["{route}"]}}"#);
    let both = |one: &str, other: &str| selecting(&format!("[{}, {}]", route(one), route(other)));
    let words = ["element 2 (web/blue)", "leave default-route in one element"];
    check(&mut cluster(), &both("10.0.0.1", "10.0.0.2"), "DefaultRouteTwice", &words);
    check(&mut cluster(), &both("10.0.0.1", "fd00::1"), "Starting", &["reported no reason"]);
}

#[test]
fn a_key_that_multus_ignores_is_a_warning() {
    let mut pod = attached();
    pod["metadata"]["annotations"][NETWORKS] = json!(with(r#""ip": ["10.56.217.7"]"#));
    let report = explain(&mut cluster(), &pod_object("app", &pod));
    assert!(report.is_ok() && report.findings.len() == 1, "{}", text(&report));
    assert!(text(&report).contains("the key \"ip\", which Multus ignores") && text(&report).contains("write ips if"));
}

#[test]
fn an_address_that_no_node_or_another_node_assigns() {
    let requesting = |address: &str| selecting(&with(&format!(r#""ips": ["{address}"]"#)));
    let with_ipam = |ipam: Value| {
        let mut snapshot = cluster();
        add_network(&mut snapshot, &network_object("blue", &json!({"ipam": ipam})));
        snapshot
    };
    let range = json!({"subnet": "10.56.217.0/24", "rangeStart": "10.56.217.10", "rangeEnd": "10.56.217.20"});
    let mut one = with_ipam(json!({"type": "host-local", "ranges": [[range]]}));
    let ranges = ["10.9.9.9, and the ranges of network blue are 10.56.217.10 to 10.56.217.20", "such as 10.56.217.20"];
    check(&mut one, &requesting("10.9.9.9/24"), "AddressOutsideRange", &ranges);
    check(&mut one, &requesting("10.56.217.1"), "AddressOfGateway", &["which is the gateway of network blue"]);
    check(&mut one, &requesting("10.56.217.12"), "Starting", &[]);

    let divided = json!({"type": "host-local", "ranges": [[{"subnet": "10.142.0.0/16"}]], "nodePrefix": {"ipv4": 24}});
    let mut divided = with_ipam(divided);
    let mut state = state_object("node-b", &json!([]));
    state["spec"]["number"] = json!(3);
    add(&mut divided, &state);
    let words = ["is in the part of node node-b: node node-a assigns 10.142.1.0 to 10.142.1.255", "spec.attachments"];
    check(&mut divided, &requesting("10.142.3.77"), "AddressOfOtherNode", &words);
    check(&mut divided, &requesting("10.142.9.77"), "AddressOfOtherNode", &["the part of no node yet"]);
    let mut fixed =
        json!({"ipam": {"type": "host-local", "ranges": [[{"subnet": "10.142.0.0/16"}]], "nodePrefix": {"ipv4": 24}}});
    merge(&mut fixed, &json!({"attachments": [{"namespace": "web", "pod": "app", "ips": ["10.142.3.9/16"]}]}));
    add_network(&mut divided, &network_object("blue", &fixed));
    check(&mut divided, &requesting("10.142.3.77"), "Starting", &["reported no reason"]);
}

/// Texts that no object explains, as they are in events, and the cause of each.
const OF_OTHERS: [(&str, &str, &str); 12] = [
    (
        "Multus: [web/app/u]: error loading k8s delegates k8s args: TryLoadPodDelegates: error in getting k8s network for pod: GetNetworkDelegates: namespace isolation enabled, annotation violates permission, pod is in namespace web but refers to target namespace db",
        "NamespaceIsolated",
        "globalNamespaces",
    ),
    ("Multus: [web/app/u]: multus does not support ECMP for default-route", "DefaultRouteTwice", "leave default-route"),
    (
        "Multus: [web/app/u]: error loading k8s delegates k8s args: TryLoadPodDelegates: error in getting k8s network for pod: parsePodNetworkAnnotation: failed to parse pod Network Attachment Selection Annotation JSON format: json: cannot unmarshal string into Go struct field BandwidthEntry.bandwidth.ingressRate of type int",
        "AnnotationInvalid",
        "bits per second",
    ),
    (
        "[web/app/u:blue]: error adding container to network \"blue\": DelegateAdd: cannot set \"userspace\" interface name to \"net1\": validateIfName: interface name net1 already exists",
        "InterfaceNameTwice",
        "a name of its own",
    ),
    (
        "Multus: [web/app/u]: have you checked that your default network is ready? still waiting for readinessindicatorfile @ /run/flannel/subnet.env. pollimmediate error: timed out waiting for the condition",
        "ClusterNetworkNotReady",
        "the cluster's own network",
    ),
    (
        "plugin type=\"multus-shim\" name=\"multus-cni-network\" failed (add): CmdAdd (shim): CNI request failed with status 400: Post \"http://dummy/cni\": dial unix /run/multus/multus.sock: connect: connection refused",
        "MultusUnreachable",
        "daemon of Multus",
    ),
    ("Multus: [web/app/u]: error waiting for pod: Unauthorized", "MultusWithoutApiServer", "get of pods"),
    (
        "[web/app/u:blue]: error adding container to network \"blue\": failed to find plugin \"bandwidth\" in path [/opt/cni/bin]",
        "PluginMissing",
        "bin_dir",
    ),
    (
        "rpc error: code = Unknown desc = failed to setup network for sandbox \"0a\": cni plugin not initialized",
        "RuntimeNotReady",
        "/etc/cni/net.d",
    ),
    ("mkdir /run/containerd/x: no space left on device", "NodeDiskFull", "DiskPressure"),
    ("Multus: [web/app/u]: something that is new", "MultusRefused", "as the message of Multus says"),
    ("rpc error: code = DeadlineExceeded desc = context deadline exceeded", "SandboxFailed", "container runtime"),
];

#[test]
fn what_only_other_programs_say_is_the_last_resort() {
    for (message, cause, remedy) in OF_OTHERS {
        let mut snapshot = cluster();
        sandbox_failed(&mut snapshot, message);
        check(&mut snapshot, &waiting(), cause, &[remedy, &message[message.len() - 20..]]);
    }
    // The definition exists meanwhile.
    let mut snapshot = cluster();
    let missing = "Multus: [web/app/u]: error loading k8s delegates k8s args: TryLoadPodDelegates: error in getting k8s network for pod: GetNetworkDelegates: failed getting the delegate: getKubernetesDelegate: cannot find a network-attachment-definition (blue) in namespace (web)";
    sandbox_failed(&mut snapshot, missing);
    check(&mut snapshot, &waiting(), "DefinitionMissing", &["cannot find a network-attachment-definition (blue)"]);
}

#[test]
fn the_tries_of_all_sandboxes_are_counted() {
    let mut snapshot = cluster();
    for sandbox in ["0a", "0b", "0c"] {
        let message = format!("failed to setup network for sandbox \"{sandbox}\": usnet[103 Busy]: the engine is busy");
        let reason = "FailedCreatePodSandBox".to_owned();
        snapshot.events.push(Event { reason, message, is_warning: true, time: None, count: 1 });
    }
    check(&mut snapshot, &waiting(), "Busy", &["(code 103, 3 times)"]);
}

fn unscheduled(message: &str, spec: &Value) -> Value {
    let condition = json!([{"type": "PodScheduled", "status": "False", "message": message}]);
    let mut pod = json!({"spec": {"nodeName": null}, "status": {"conditions": condition, "containerStatuses": null}});
    merge(&mut pod, &json!({"spec": spec}));
    pod_object("app", &pod)
}

#[test]
fn a_resource_of_no_network_or_of_one_without_devices() {
    let pod = |resource: &str| {
        let container = json!([{"name": "app", "image": "app:1", "resources": {"limits": {resource: "1"}}, "volumeMounts": [{"name": "usnet", "mountPath": "/x"}]}]);
        let message =
            format!("0/2 nodes are available: 2 Insufficient {resource}. preemption: 0/2 nodes are available");
        unscheduled(&message, &json!({"containers": container}))
    };
    let words = ["there is no network blu:", "request usnet.dev/blue if"];
    check(&mut cluster(), &pod("usnet.dev/blu"), "UnknownResource", &words);
    let words = ["neither spec.devicePlugin nor spec.resourceClaims", "set spec.devicePlugin"];
    check(&mut cluster(), &pod("usnet.dev/blue"), "NoDevices", &words);
}

#[test]
fn a_pod_that_the_kubelet_gave_up_or_cannot_end() {
    let status = json!({"status": {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "Pod was rejected: Allocate failed due to no usnet.dev/blue", "containerStatuses": null}});
    let words = ["Allocate failed due to no usnet.dev/blue", "delete the pod"];
    check(&mut cluster(), &pod_object("app", &status), "UnexpectedAdmissionError", &words);
    let mut snapshot = cluster();
    let message = "error killing pod: failed to \"KillPodSandbox\": usnet[11 TryAgainLater]: busy".to_owned();
    let reason = "FailedKillPod".to_owned();
    snapshot.events.push(Event { reason, message, is_warning: true, time: None, count: 1 });
    let deleted = json!({"metadata": {"deletionTimestamp": "1970-01-01T00:55:00Z"}});
    check(&mut snapshot, &pod_object("app", &deleted), "NotEnding", &["the kubelet cannot end it", "busy"]);
}

#[test]
fn an_init_container_that_does_not_run() {
    let status = json!([{"name": "init", "image": "i", "imageID": "", "ready": false, "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]);
    let pod = json!({"spec": {"initContainers": [{"name": "init", "image": "i:1"}]}, "status": {"initContainerStatuses": status}});
    let mut waiting = attached();
    merge(&mut waiting, &pod);
    waiting["status"]["phase"] = json!("Pending");
    check(&mut cluster(), &pod_object("app", &waiting), "ProgramNotRunning", &["container init", "-c init --previous"]);
}

#[test]
fn an_event_of_another_kind_is_named() {
    let mut snapshot = cluster();
    add(&mut snapshot, &definition_object("web", "blue"));
    let message = "MountVolume.SetUp failed for volume \"config\": configmap \"app\" not found".to_owned();
    let reason = "FailedMount".to_owned();
    snapshot.events.push(Event { reason, message, is_warning: true, time: None, count: 4 });
    check(
        &mut snapshot,
        &waiting(),
        "FailedMount",
        &["configmap \"app\" not found", "kubectl describe pod -n web app"],
    );
}
