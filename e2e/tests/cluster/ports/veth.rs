//! Pods whose programs use kernel sockets: they exchange packets over a network of usnet, and leave
//! no device when they are deleted.

use crate::support::cluster::{check, eventually, get, on_node, vsctl};
use crate::support::pods::{NODE, in_pod, pod_without_volume, remains, start, uid};
use crate::support::scene::Scene;
use crate::support::station::Station;
use serde_json::{Value, json};

/// A pod without a volume that sends its own program to every client that connects.
fn server(scene: &Scene, name: &str, network: &str) -> Value {
    let mut pod = pod_without_volume(scene, name, network);
    let serve = "while true; do busybox nc -l -p 8080 < /usr/bin/busybox; done";
    pod["spec"]["containers"][0]["command"] = json!(["busybox", "sh", "-c", serve]);
    pod
}

/// The devices on the node that are ours.
fn devices() -> String {
    on_node(NODE, &["sh", "-c", "ip -o link | grep -o 'alias usnet:[^ ]*' || true"])
}

#[test]
fn pods_reach_each_other_over_icmp_and_tcp_in_their_vlan_and_leave_no_device() {
    let scene = Scene::new("veth");
    let spec = json!({
        "bridge": {"mtu": 1400},
        "port": {"type": "Veth", "vlan": {"mode": "Access", "tag": 7}},
        "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.56.7.0/24"}]]},
    });
    scene.network("veth", &spec);
    let pods = ["left", "right"];
    for pod in pods {
        start(&scene, &server(&scene, pod, "veth"));
    }
    assert_eq!(devices().lines().count(), 2, "{}", devices());
    let ports = vsctl(NODE, &["list-ports", "br-veth"]);
    assert_eq!(ports.lines().count(), 2);
    for port in ports.lines() {
        assert_eq!(vsctl(NODE, &["get", "Port", port, "tag"]), "7");
    }
    assert!(in_pod(&scene, "left", "busybox ip link show net1").contains("mtu 1400"));
    eventually("the count of attached pods whose device is there", || {
        let status = get(&["usn", "veth"]).unwrap()["status"].clone();
        check(status["attachments"] == 2 && status["connected"] == 2, status.to_string())
    });
    for (from, to) in [("left", "right"), ("right", "left")] {
        let address = Station::of_pod(&scene, to).address;
        let answered = in_pod(&scene, from, &format!("busybox ping -c 3 -W 5 -I net1 {address}"));
        assert!(answered.contains("3 packets received"), "{answered}");
        let script = format!("busybox sleep 5 | busybox nc {address} 8080 | busybox md5sum");
        // nc stops receiving once its own input ends.
        let (fetched, own) = (in_pod(&scene, from, &script), in_pod(&scene, from, "busybox md5sum < /usr/bin/busybox"));
        assert_eq!(fetched, own, "a file over TCP from {to} to {from}");
    }
    for pod in pods {
        let gone = uid(&scene, pod);
        scene.delete_pod(pod);
        eventually("everything of the pod is gone", || check(remains(&gone).is_empty(), remains(&gone)));
    }
    eventually("the devices are gone", || check(devices().is_empty(), devices()));
    assert_eq!(vsctl(NODE, &["list-ports", "br-veth"]), "");
}
