//! Packets between pods, and what a deleted pod leaves.

use crate::support::cluster::{check, eventually, get, on_node, vsctl};
use crate::support::pods::{NODE, await_packets, description, remains, start, testpmd_pod, uid};
use crate::support::scene::Scene;
use serde_json::{Value, json};

#[test]
fn two_pods_exchange_packets_in_both_directions_and_leave_nothing() {
    let scene = Scene::new("exchange");
    let subnet = json!({"type": "host-local", "ranges": [[{"subnet": "10.56.1.0/24"}]]});
    scene.network("exchange", &json!({"ipam": subnet}));
    // In this mode each side sends, and counts what it receives.
    for pod in ["left", "right"] {
        start(&scene, &testpmd_pod(&scene, pod, "exchange", "flowgen"));
    }
    for pod in ["left", "right"] {
        await_packets(&scene, pod, 1);
    }
    eventually("the count of attached pods", || {
        let observed = get(&["usn", "exchange"]).unwrap()["status"]["attachments"].clone();
        check(observed == 2, observed.to_string())
    });

    let addresses = || on_node(NODE, &["sh", "-c", "ls /var/lib/cni/networks/exchange | grep '^10' || true"]);
    assert_eq!(addresses().lines().count(), 2, "{}", addresses());
    let (described, uid_left) = (description(&scene, "left", "net1"), uid(&scene, "left"));
    let address = described["ips"][0]["address"].as_str().unwrap().split('/').next().unwrap().to_owned();
    assert!(addresses().contains(&address), "{described} {}", addresses());
    assert!(!remains(&uid_left).is_empty());

    scene.delete_pod("left");
    eventually("everything of the deleted pod is gone", || check(remains(&uid_left).is_empty(), remains(&uid_left)));
    assert!(!addresses().contains(&address), "{}", addresses());
    assert_eq!(vsctl(NODE, &["list-ports", "br-exchange"]).lines().count(), 1);
}

#[test]
fn a_pod_gets_what_its_program_needs() {
    let scene = Scene::new("told");
    scene.network(
        "told",
        &json!({
            "bridge": {"mtu": 1600},
            "port": {"queues": 2},
            "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.56.2.0/24"}]]},
        }),
    );
    start(&scene, &crate::support::pods::sleeping_pod(&scene, "told", "told"));
    let described = description(&scene, "told", "net1");
    assert_eq!(described["mtu"], 1600, "{described}");
    assert_eq!(described["queues"], 2, "{described}");
    assert_eq!(described["role"], "server", "{described}");
    let status = get(&["pod", "told", "-n", &scene.name]).unwrap()["metadata"]["annotations"]
        ["k8s.v1.cni.cncf.io/network-status"]
        .as_str()
        .map(|text| serde_json::from_str::<Value>(text).unwrap())
        .unwrap();
    let ours = status.as_array().unwrap().iter().find(|entry| entry["interface"] == "net1").unwrap();
    assert_eq!(ours["mac"], described["mac"], "{status} {described}");
    assert!(
        described["ips"][0]["address"].as_str().unwrap().starts_with(ours["ips"][0].as_str().unwrap()),
        "{status} {described}"
    );
}

#[test]
fn a_pod_can_have_two_interfaces() {
    let scene = Scene::new("two");
    for network in ["two-x", "two-y"] {
        scene.network(network, &json!({}));
    }
    // It sends on both networks and a second pod hears both.
    for pod in ["one", "other"] {
        start(&scene, &testpmd_pod(&scene, pod, "two-x,two-y", "flowgen"));
    }
    await_packets(&scene, "one", 2);
    await_packets(&scene, "other", 2);
    for network in ["two-x", "two-y"] {
        assert_eq!(vsctl(NODE, &["list-ports", &format!("br-{network}")]).lines().count(), 2, "{network}");
    }
    let gone = uid(&scene, "one");
    scene.delete_pod("one");
    eventually("both interfaces are gone", || check(remains(&gone).is_empty(), remains(&gone)));
}

#[test]
fn vlans_keep_pods_of_one_bridge_apart_and_a_changed_tag_is_changed_in_place() {
    let scene = Scene::new("vlan");
    let tagged = |tag: i64| json!({"port": {"vlan": {"mode": "Access", "tag": tag}}});
    scene.network("vlan", &tagged(100));
    start(&scene, &crate::support::pods::sleeping_pod(&scene, "member", "vlan"));
    let port = vsctl(NODE, &["list-ports", "br-vlan"]);
    assert_eq!(vsctl(NODE, &["get", "Port", &port, "tag"]), "100");
    let number = vsctl(NODE, &["get", "Interface", &port, "ofport"]);
    scene.network("vlan", &tagged(200));
    eventually("the new tag", || {
        let tag = vsctl(NODE, &["get", "Port", &port, "tag"]);
        check(tag == "200", tag)
    });
    assert_eq!(vsctl(NODE, &["get", "Interface", &port, "ofport"]), number);
}
