//! Pods that Kubernetes, Multus or the plugin does not start.

use super::{NETWORKS, check, cluster, sandbox_failed, selecting, waiting};
use crate::model::testing::{add_network, attached, network_object, pod_object};
use serde_json::json;

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
    check(&mut snapshot, &waiting(), "PortRejected", &["no memory", "see the engine's log"]);
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
    check(&mut cluster(), &pod_object("app", &pod), "NoHugepages", &["hugepages of 2Mi", "reserve them on the nodes"]);
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
fn containers_that_do_not_run_differ_in_what_to_do() {
    for (state, last, words) in [
        (json!({"waiting": {"reason": "ErrImageNeverPull"}}), json!({}), "correct the image"),
        (json!({"waiting": {"reason": "CreateContainerConfigError"}}), json!({}), "create the ConfigMap or Secret"),
        (json!({"terminated": {"reason": "Error", "exitCode": 3}}), json!({}), "ended with Error, exit status 3"),
        (
            json!({"waiting": {"reason": "CrashLoopBackOff"}}),
            json!({"terminated": {"reason": "StartError", "exitCode": 128, "message": "exec: \"/none\""}}),
            "correct the command",
        ),
        (
            json!({"waiting": {"reason": "CrashLoopBackOff"}}),
            json!({"terminated": {"reason": "OOMKilled", "exitCode": 137}}),
            "raise the memory limit",
        ),
    ] {
        let mut pod = pod_object("app", &attached());
        pod["status"]["containerStatuses"][0]["state"] = state;
        pod["status"]["containerStatuses"][0]["lastState"] = last;
        check(&mut cluster(), &pod, "ProgramNotRunning", &[words]);
    }
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
