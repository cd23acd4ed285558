//! Programs that are not connected.

use super::{check, check_with, cluster};
use crate::model::Snapshot;
use crate::model::testing::{
    add, add_network, attached, merge, network_object, network_report, pod_object, state_object,
};
use serde_json::{Value, json};

/// A cluster in which the agent reports that the program is not connected.
fn unconnected(spec: &Value, message: &str) -> Snapshot {
    let mut snapshot = cluster();
    add_network(&mut snapshot, &network_object("blue", spec));
    let degraded = json!([{"pod": "web/app", "uid": "uid of app", "interface": "net1", "reason": "NotConnected", "message": message}]);
    let report = network_report("blue", "Programmed", &json!({"attachments": 1, "degraded": degraded}));
    add(&mut snapshot, &state_object("node-a", &json!([report])));
    snapshot
}

/// A running pod whose container has this command.
fn started_with(command: &[&str]) -> Value {
    let mut pod = attached();
    let container = json!({"name": "app", "image": "app:1", "command": command, "volumeMounts": [{"name": "usnet", "mountPath": "/var/run/sockets/"}]});
    merge(&mut pod, &json!({"spec": {"containers": [container]}}));
    pod_object("app", &pod)
}

const LISTEN: &str =
    "interface net1: no program of the pod is connected to Open vSwitch: it has to listen on net1.sock (server side)";

#[test]
fn the_path_is_the_one_in_the_container() {
    let mut snapshot = unconnected(&json!({}), LISTEN);
    let words = ["The socket is /var/run/sockets/net1.sock in container app"];
    check(&mut snapshot, &started_with(&["app"]), "NotConnected", &words);
}

#[test]
fn a_command_line_that_does_not_suit_the_port_is_named() {
    let right = "--vdev=net_virtio_user0,path=/var/run/sockets/net1.sock,server=1";
    for (device, words) in [
        (
            "--vdev=net_memif0,role=client,socket=/var/run/sockets/net1.sock",
            "a program for Memif ports, and the port of the network is VhostUser",
        ),
        (
            "--vdev=net_virtio_user0,path=/var/run/sockets/net0.sock,server=1",
            "net0.sock,server=1, and the socket is /var/run/sockets/net1.sock",
        ),
        ("--vdev=net_virtio_user0,path=/tmp/net1.sock,server=1", "/tmp/net1.sock,server=1, and the socket is"),
        (
            "--vdev=net_virtio_user0,path=/var/run/sockets/net1.sock",
            "which connects to the socket, and it has to listen there",
        ),
        (
            "sh -c 'exec testpmd --vdev=net_vhost0,iface=/var/run/sockets/net1.sock,client=1'",
            "which connects to the socket",
        ),
    ] {
        let mut snapshot = unconnected(&json!({}), LISTEN);
        check_with(false, &mut snapshot, &started_with(&["testpmd", device]), ("NotConnected", &[words, right]));
    }
    let memif = json!({"engine": "VPP"});
    let connect =
        "interface net1: no program of the pod is connected to VPP: it has to connect to net1.sock (client side)";
    let wrong = started_with(&["testpmd", "--vdev=net_virtio_user0,path=/var/run/sockets/net1.sock,server=1"]);
    let words =
        ["a program for VhostUser ports, and the port of the network is Memif", "--vdev=net_memif0,role=client"];
    check_with(false, &mut unconnected(&memif, connect), &wrong, ("NotConnected", &words));
    let slave = started_with(&["testpmd", "--vdev=net_memif0,role=server,socket=/var/run/sockets/net1.sock"]);
    check_with(false, &mut unconnected(&memif, connect), &slave, ("NotConnected", &["which listens on the socket"]));
}

#[test]
fn nothing_is_said_of_a_command_line_that_suits_the_port() {
    let suits = started_with(&["testpmd", "--vdev=net_virtio_user0,path=/var/run/sockets/net1.sock,server=1"]);
    let mut snapshot = unconnected(&json!({}), LISTEN);
    check(&mut snapshot, &suits, "NotConnected", &["make the program take the side of the socket"]);
}

#[test]
fn the_state_of_a_container_that_does_not_run_is_named() {
    let mut snapshot = unconnected(&json!({}), LISTEN);
    let mut pod = attached();
    let state = json!({"waiting": {"reason": "Backoff"}});
    let status =
        json!([{"name": "app", "image": "app:1", "imageID": "", "ready": false, "restartCount": 5, "state": state}]);
    merge(&mut pod, &json!({"status": {"containerStatuses": status}}));
    let words = ["Container app does not run (Backoff, 5 restarts): see its log"];
    check(&mut snapshot, &pod_object("app", &pod), "NotConnected", &words);
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
fn an_engine_without_memory_is_not_the_fault_of_the_program() {
    let mut snapshot = cluster();
    let degraded = json!([{"pod": "web/app", "uid": "uid of app", "interface": "net1", "reason": "NoMemory", "message": "interface net1: Open vSwitch has no DPDK memory for it"}]);
    let report = network_report("blue", "Programmed", &json!({"attachments": 1, "degraded": degraded}));
    add(&mut snapshot, &state_object("node-a", &json!([report])));
    let words = ["no DPDK memory", "other_config:dpdk-socket-mem"];
    check(&mut snapshot, &pod_object("app", &attached()), "NoMemory", &words);
}
