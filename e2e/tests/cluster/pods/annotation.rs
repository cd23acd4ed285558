//! Each key of Multus' annotation takes effect in the pod: in its kernel with `Veth`, in the
//! description of the interface with a socket.

use crate::support::cluster::{kubectl, vsctl};
use crate::support::pods::{NODE, description, sleeping_pod, start};
use crate::support::scene::Scene;
use serde_json::{Value, json};

fn in_pod(scene: &Scene, pod: &str, script: &str) -> String {
    kubectl(&["exec", pod, "-n", &scene.name, "--", "busybox", "sh", "-c", script])
}

fn pod(scene: &Scene, name: &str, elements: &Value) {
    start(scene, &sleeping_pod(scene, name, &elements.to_string()));
}

#[test]
fn each_key_of_the_annotation_takes_effect_in_the_pod() {
    let scene = Scene::new("asked");
    scene.network("asked-veth", &json!({"port": {"type": "Veth"}}));
    scene.network("asked-socket", &json!({}));

    pod(
        &scene,
        "kernel",
        &json!([
            {"name": "asked-veth", "ips": ["10.61.0.5/24", "fd00:61::5/64"], "mac": "02:61:00:00:00:05", "bandwidth": {"ingressRate": 3_000_000, "ingressBurst": 1600}},
            {"name": "asked-veth", "interface": "data0", "ips": ["10.62.0.5/24"], "cni-args": {"default-route": ["10.62.0.1"]}},
            {"name": "asked-veth", "interface": "data1", "cni-args": {"ips": ["10.63.0.5/24"], "mac": "02:63:00:00:00:05"}},
        ]),
    );
    let first = in_pod(&scene, "kernel", "busybox ip addr show dev net1");
    for expected in ["02:61:00:00:00:05", "10.61.0.5/24", "fd00:61::5/64"] {
        assert!(first.contains(expected), "{expected}: {first}");
    }
    let third = in_pod(&scene, "kernel", "busybox ip addr show dev data1");
    assert!(third.contains("10.63.0.5/24") && third.contains("02:63:00:00:00:05"), "{third}");
    // By `cni-args`, because Multus 4.3 leaves the route of eth0 where it is for its own key.
    let routes = in_pod(&scene, "kernel", "busybox ip route");
    let default: Vec<&str> = routes.lines().map(str::trim).filter(|route| route.starts_with("default")).collect();
    assert_eq!(default, ["default via 10.62.0.1 dev data0"]);
    let limits = vsctl(NODE, &["--bare", "--columns=other_config", "list", "QoS"]);
    assert!(limits.contains("3000000"), "{limits}");

    pod(
        &scene,
        "socket",
        &json!([
            {"name": "asked-socket", "ips": ["10.61.0.6/24"], "mac": "02:61:00:00:00:06", "interface": "data0", "bandwidth": {"egressRate": 5_000_000}},
            {"name": "asked-socket", "ips": ["10.64.0.6/24"], "cni-args": {"default-route": ["10.64.0.1"]}},
        ]),
    );
    let first = description(&scene, "socket", "data0");
    assert_eq!((&first["mac"], &first["ips"]), (&json!("02:61:00:00:00:06"), &json!([{"address": "10.61.0.6/24"}])));
    assert_eq!(first["interface"], "data0");
    assert_eq!(description(&scene, "socket", "net2")["routes"], json!([{"dst": "0.0.0.0/0", "gw": "10.64.0.1"}]));
    let policed =
        vsctl(NODE, &["--bare", "--columns=ingress_policing_rate", "find", "Interface", "ingress_policing_rate=5000"]);
    assert!(policed.contains("5000"), "{policed}");
}

/// Multus itself sets this route, in the pod's kernel, and fails where the interface is not there.
#[test]
fn multus_cannot_set_the_default_route_of_a_socket_and_says_so() {
    let scene = Scene::new("unroutable");
    scene.network("unroutable", &json!({}));
    let elements = json!([{"name": "unroutable", "ips": ["10.65.0.6/24"], "default-route": ["10.65.0.1"]}]);
    crate::support::cluster::apply(&sleeping_pod(&scene, "refused", &elements.to_string()));
    scene.await_refusal("refused", &["SetDefaultGW"]);
}
