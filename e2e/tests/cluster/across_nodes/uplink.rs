//! Uplinks: pods of one network on different nodes, and hosts outside, over the nodes' second NICs.

use super::count::{ALL_ONCE, BROADCASTS, NONE, await_datagram, broadcast, until_traffic};
use super::outside::Outside;
use crate::support::cluster::{NODES, apply, check, eventually, get, kubectl, on_node, run, timeout, vsctl};
use crate::support::pods::{sleeping_pod, start};
use crate::support::scene::Scene;
use crate::support::station::Station;
use serde_json::{Value, json};
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Instant;

/// The MTU of the nodes' second network, without the headers of IPv4 and UDP.
const LARGEST: usize = 1500 - 28;
const BROADCAST: Ipv4Addr = Ipv4Addr::new(10, 142, 255, 255);
/// No node has a part of the range that has it.
const OUTSIDE: &str = "10.142.200.1";

fn uplink(name: &str, vlans: &Value) {
    let mut spec = json!({"engine": "OVS", "nics": [{"device": {"type": "Name", "name": "eth1"}}]});
    if !vlans.is_null() {
        spec["vlans"] = vlans.clone();
    }
    apply(&json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceUplink", "metadata": {"name": name}, "spec": spec,
    }));
}

/// A network with the same addresses as any other of these tests.
fn network(scene: &Scene, name: &str, uplink: &Value) {
    let spec = json!({
        "port": {"type": "Veth"},
        "topology": {"type": "Uplink", "uplink": uplink},
        "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.142.0.0/16"}]], "nodePrefix": {"ipv4": 24}},
    });
    scene.network(name, &spec);
}

/// A pod on a node and a network.
fn station(scene: &Scene, name: &str, node: &str, network: &str) -> Station {
    let mut pod = sleeping_pod(scene, name, network);
    pod["spec"]["nodeName"] = json!(node);
    pod["spec"]["volumes"] = json!([]);
    pod["spec"]["containers"][0]["volumeMounts"] = json!([]);
    start(scene, &pod);
    Station::of_pod(scene, name)
}

/// Each of `senders` sends to all. The `members` receive each broadcast once, the `strangers` none.
fn count(senders: &[&Station], members: &[&Station], strangers: &[&Station]) {
    let everybody: Vec<&Station> = members.iter().chain(strangers).copied().collect();
    for sender in senders {
        let counts = broadcast(sender, BROADCAST, &everybody);
        println!("{} sent {BROADCASTS} broadcasts; received: {counts:?}", sender.name);
        for (name, count) in counts {
            let is_stranger = strangers.iter().any(|stranger| stranger.name == name);
            // The sender's own kernel gives it each of them once.
            assert_eq!(count, if is_stranger { NONE } else { ALL_ONCE }, "{name}, of what {} sent", sender.name);
        }
    }
}

/// Waits until the agent of a node says this of uplink `fab`, and prints how long that took.
fn await_uplink(node: &str, state: &str, reason: &str) {
    let start = Instant::now();
    eventually(&format!("the uplink of {node} is {state} {reason}"), || {
        let status = get(&["usns", node]).ok_or("no node state")?["status"].take();
        let entry = status["uplinks"].as_array().and_then(|all| all.iter().find(|entry| entry["name"] == "fab"));
        let entry = entry.ok_or("no uplink fab")?;
        let is_so = entry["state"] == state && entry["reason"].as_str().unwrap_or_default() == reason;
        check(is_so, entry.to_string())
    });
    println!("{node}: {state} {reason} reported after {:?}", start.elapsed());
}

/// The NIC of a node is gone, and another one of its name is plugged in, which is down.
fn replace_nic(node: &str) {
    on_node(node, &["ip", "link", "del", "eth1"]);
    await_uplink(node, "Failed", "NicLost");
    let folder = PathBuf::from(std::env::var("USNET_WORLD").unwrap());
    let process = fs::read_to_string(folder.join("nodes").join(node).join("pid")).unwrap();
    let plug = format!("{node}-1");
    run("ip", &["link", "add", &plug, "type", "veth", "peer", "name", "eth1", "netns", process.trim()]);
    run("ip", &["link", "set", &plug, "master", "fab1", "up"]);
}

fn rename_nic(node: &str, from: &str, to: &str) {
    on_node(node, &["ip", "link", "set", from, "down"]);
    on_node(node, &["ip", "link", "set", from, "name", to, "up"]);
}

/// What happens to the NIC of a node, and how long no traffic passes afterwards.
fn nic_faults(node: &str, left: &Station, right: &Station) {
    let print = |what: &str| println!("{what}: traffic after {:?}", until_traffic(left, right));
    replace_nic(node);
    print("NIC deleted and created again");
    await_uplink(node, "Programmed", "");
    on_node(node, &["ip", "link", "set", "eth1", "down"]);
    print("NIC set down");
    await_uplink(node, "Programmed", "");
    let plug = format!("{node}-1");
    run("ip", &["link", "set", &plug, "down"]);
    await_uplink(node, "Failed", "NicLost");
    run("ip", &["link", "set", &plug, "up"]);
    print("carrier lost and back");
    await_uplink(node, "Programmed", "");
    rename_nic(node, "eth1", "eth9");
    print("NIC renamed");
    await_uplink(node, "Failed", "NicLost");
    rename_nic(node, "eth9", "eth1");
    print("NIC renamed back");
    await_uplink(node, "Programmed", "");
}

/// Deletes all of it, and awaits that the nodes are as before.
fn clean_up(scene: &Scene, pods: &[&Station], networks: &[&str], uplink: &str) {
    for station in pods {
        scene.delete_pod(&station.name);
    }
    kubectl(&[&["delete", "usn", timeout()], networks].concat());
    kubectl(&["delete", "userspaceuplink", uplink, timeout()]);
    for node in NODES {
        let bridge = format!("br-up-{uplink}");
        eventually("the bridge of the uplink is gone", || {
            let bridges = vsctl(node, &["list-br"]);
            check(!bridges.contains(&bridge), bridges)
        });
        eventually("the switch has let the NIC go", || {
            let nic = on_node(node, &["ip", "-d", "link", "show", "dev", "eth1"]);
            check(nic.contains("promiscuity 0") && nic.contains("LOWER_UP"), nic)
        });
    }
}

#[test]
fn pods_and_hosts_outside_meet_over_uplinks_and_nics_come_back() {
    let scene = Scene::new("across-uplink");
    let outside = Outside::start();
    let [near, far] = NODES;
    uplink("fab", &json!(["100-199"]));
    network(&scene, "up-blue", &json!({"name": "fab", "vlan": 100}));
    network(&scene, "up-red", &json!({"name": "fab", "vlan": 101}));
    let pods = [("left", near), ("beside", near), ("right", far)];
    let [left, beside, right] = pods.map(|(pod, node)| station(&scene, pod, node, "up-blue"));
    let stranger = station(&scene, "stranger", far, "up-red");
    assert_eq!(stranger.address, right.address, "both networks have the same addresses");
    let host = outside.station("host100", Some(100), OUTSIDE, 16);
    for (from, to) in [(&left, &right), (&right, &left), (&host, &right), (&right, &host)] {
        await_datagram(from, to, LARGEST);
    }
    count(&[&left, &right, &host], &[&left, &beside, &right, &host], &[&stranger]);
    count(&[&stranger], &[&stranger], &[&left, &beside, &right, &host]);
    nic_faults(far, &left, &right);
    count(&[&left, &right], &[&left, &beside, &right, &host], &[&stranger]);
    clean_up(&scene, &[&left, &beside, &right, &stranger], &["up-blue", "up-red"], "fab");
    outside.remove(&host);

    uplink("plain", &Value::Null);
    network(&scene, "across-plain", &json!({"name": "plain"}));
    let [left, right] = [("left", near), ("right", far)].map(|(pod, node)| station(&scene, pod, node, "across-plain"));
    let host = outside.station("host", None, OUTSIDE, 16);
    await_datagram(&left, &right, LARGEST);
    await_datagram(&host, &left, LARGEST);
    count(&[&left, &right, &host], &[&left, &right, &host], &[]);
    outside.remove(&host);
    let host = outside.station("host100", Some(100), OUTSIDE, 16);
    count(&[&host], &[&host], &[&left, &right]);
    clean_up(&scene, &[&left, &right], &["across-plain"], "plain");
}
