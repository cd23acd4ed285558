//! Uplinks: pods of one network on different nodes, and hosts outside, over the nodes' second NICs.

use super::is_long;
use super::measure::count::until_traffic;
use super::measure::report;
use super::outside::Outside;
use super::segment::{Segment, Variant, count, meet};
use crate::support::cluster::{check, eventually, get, kubectl, nodes, on_node, run, timeout, try_run, vsctl};
use crate::support::pods::{received, start, testpmd_pod};
use crate::support::scene::Scene;
use crate::support::station::Station;
use crate::support::uplinks::Uplink;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

/// No node has a part of the range that has it.
const OUTSIDE: &str = "10.142.200.1";

/// Uplinks of an engine.
pub(super) struct Uplinks {
    pub(super) vlan: Variant,
    /// The names of two networks.
    networks: [&'static str; 2],
}

pub(super) const OVS: Uplinks = Uplinks { vlan: VLAN, networks: ["up-blue", "up-red"] };
pub(super) const VPP: Uplinks = Uplinks {
    vlan: Variant { name: "VPP uplink with VLAN", engines: &["VPP"], ..VLAN },
    networks: ["vup-blue", "vup-red"],
};

const VLAN: Variant = Variant {
    name: "Open vSwitch uplink with VLAN",
    engines: &["OVS"],
    topology: |number| json!({"type": "Uplink", "uplink": {"name": "fab", "vlan": 100 + number}}),
    mtu: 1500,
};
const UNTAGGED: Variant = Variant {
    name: "Open vSwitch uplink, untagged",
    engines: &["OVS"],
    topology: |_| json!({"type": "Uplink", "uplink": {"name": "plain"}}),
    mtu: 1500,
};

/// An uplink with the nodes' second NICs.
pub(super) fn uplink(name: &str, engine: &str, vlans: &Value) -> Uplink {
    uplink_with(name, engine, if vlans.is_null() { json!({}) } else { json!({"vlans": vlans}) })
}

/// Returns the same with other fields.
pub(super) fn uplink_with(name: &str, engine: &str, mut spec: Value) -> Uplink {
    spec["engine"] = engine.into();
    spec["nics"] = json!([{"device": {"type": "Name", "name": "eth1"}}]);
    Uplink::apply(&json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceUplink", "spec": spec,
        "metadata": {"name": name, "annotations": {"usnet.dev/keep-in-use": "true"}},
    }))
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

/// A fault of the NIC of a node, and the length of the outage.
fn nic_faults(variant: &Variant, node: &str, left: &Station, right: &Station) {
    let print = |what: &str| {
        let cells =
            [variant.name.to_owned(), what.to_owned(), format!("{:.2} s", until_traffic(left, right).as_secs_f64())];
        report::row("NICs that go", &["segment", "fault", "traffic after"], cells.into());
    };
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

/// Deletes an uplink without networks, and awaits that the nodes are as before.
pub(super) fn delete(uplink: Uplink, name: &str) {
    drop(uplink);
    for node in nodes() {
        let bridge = format!("br-up-{name}");
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

/// A DPDK program in another VLAN of the uplink, which answers pings: those of a host in its VLAN
/// and of no other host.
fn testpmd_answers_its_vlan_alone(scene: &Scene, outside: &Outside, elsewhere: &Station) {
    const PINGS: &str = "20";
    let spec = json!({"port": {"type": "VhostUser"}, "topology": (VLAN.topology)(9)});
    scene.network("up-dpdk", &spec);
    let mut pod = testpmd_pod(scene, "dpdk", "up-dpdk", "icmpecho");
    pod["spec"]["nodeName"] = json!(nodes().last());
    start(scene, &pod);
    let host = outside.station("host109", Some(109), "10.143.0.1", 16);
    // In this mode testpmd answers for any address.
    eventually("an answer of testpmd", || outside.ping(&host, "10.143.0.2", "1").map(drop));
    let answered = outside.ping(&host, "10.143.0.2", PINGS).unwrap();
    assert!(answered.contains(&format!("{PINGS} packets received")) && !answered.contains("duplicate"), "{answered}");
    let before = received(scene, "dpdk");
    outside.ping(elsewhere, "10.142.77.77", "3").unwrap_err();
    let cells = ["testpmd in VLAN 109", PINGS, PINGS, "0 of 3"].map(str::to_owned);
    report::row(
        "From outside",
        &["pod", "pings of a host in its VLAN", "answers", "answers to VLAN 100"],
        cells.into(),
    );
    println!("testpmd has received {before:?}, then {:?}", received(scene, "dpdk"));
    outside.remove(&host);
    scene.delete_pod("dpdk");
    kubectl(&["delete", "usn", "up-dpdk", timeout()]);
}

#[test]
fn pods_and_hosts_outside_meet_over_uplinks_and_nics_come_back() {
    let scene = Scene::new("across-uplink");
    let outside = Outside::start();
    in_vlans(&scene, &outside, &OVS);
    untagged(&scene, &outside);
}

#[test]
fn pods_on_vpp_and_hosts_outside_meet_over_uplinks_and_nics_come_back() {
    if VPP.vlan.moves_packets() {
        in_vlans(&Scene::new("across-vuplink"), &Outside::start(), &VPP);
    }
}

/// Networks in two VLANs of an uplink, and faults of its NICs.
fn in_vlans(scene: &Scene, outside: &Outside, Uplinks { vlan, networks }: &Uplinks) {
    let fab = uplink("fab", vlan.engines[0], &json!(["100-199"]));
    let [blue, red] =
        [(networks[0], 0), (networks[1], 1)].map(|(name, number)| Segment::create(scene, name, *vlan, number));
    let pods = blue.members();
    let strangers = red.strangers(&pods);
    let host = outside.station("host100", Some(100), OUTSIDE, 16);
    let members: Vec<&Station> = pods.iter().chain([&host]).collect();
    let strangers_of_it: Vec<&Station> = strangers.iter().collect();
    meet(vlan, &members, &strangers_of_it);
    count(&strangers_of_it[..1], &strangers_of_it, &members);
    let far = nodes()[nodes().len() - 1];
    let (left, right) = (&pods[0], &pods[pods.len() - 1]);
    nic_faults(vlan, far, left, right);
    count(&[left, right], &members, &strangers_of_it);
    if vlan.engines == ["OVS"] && is_long("a host outside and testpmd") {
        testpmd_answers_its_vlan_alone(scene, outside, &host);
    }
    // Its networks' pods could not start anywhere, whatever is applied later.
    let refused = try_run("kubectl", &["delete", "usu", "fab", "--wait=false"], "").expect_err("pods use it");
    assert!(refused.contains("usnet.dev/drain=fab") && refused.contains(networks[0]), "{refused}");
    blue.delete(&pods);
    red.delete(&strangers);
    delete(fab, "fab");
    outside.remove(&host);
}

fn untagged(scene: &Scene, outside: &Outside) {
    let plain = uplink("plain", UNTAGGED.engines[0], &Value::Null);
    let segment = Segment::create(scene, "across-plain", UNTAGGED, 0);
    let pods = segment.pods(&(0..nodes().len()).collect::<Vec<_>>());
    let host = outside.station("host", None, OUTSIDE, 16);
    meet(&UNTAGGED, &pods.iter().chain([&host]).collect::<Vec<_>>(), &[]);
    outside.remove(&host);
    let host = outside.station("host100", Some(100), OUTSIDE, 16);
    count(&[&host], &[&host], &pods.iter().collect::<Vec<_>>());
    segment.delete(&pods);
    delete(plain, "plain");
}
