//! A guest behind a `Veth` port, connected as KubeVirt does for `managedTap`: from the node, a
//! bridge over the interface and a tap for QEMU are made in the pod's network namespace.

use super::machine::{INTERFACE, Machine};
use super::{LEFT, image};
use crate::support::cluster::{NODES, apply, check, eventually, get, run};
use crate::support::pods::{pod_without_volume, remains, uid, wait_running};
use crate::support::scene::{Scene, wait_ready};
use crate::support::vpp;
use serde_json::json;

const TAP: &str = "tap37a8eec1ce1";

/// As KubeVirt names the devices: the interface gets another name and MAC address, and a device
/// that only carries its former MAC gets its name. That is a dummy, a type that not every kernel
/// has; here it is a second bridge.
const CONNECT: &str = r#"
set -eu
interface=$1 tap=$2 nic=${1#pod}-nic bridge=k6t-${1#pod}
mac=$(ip -o link show "$interface" | sed 's|.*link/ether \([^ ]*\).*|\1|')
mtu=$(ip -o link show "$interface" | sed 's|.* mtu \([0-9]*\).*|\1|')
ip link set "$interface" down
ip link set "$interface" name "$nic"
ip link set "$nic" address 02:07:00:00:ff:01
ip link add name "$bridge" type bridge
ip tuntap add dev "$tap" mode tap user 107
ip link set "$tap" mtu "$mtu"
for device in "$nic" "$tap"; do ip link set "$device" master "$bridge" up; done
ip link set "$bridge" up
ip link add name "$interface" address "$mac" type bridge
"#;

#[test]
fn a_guest_behind_a_tap_over_a_veth_reaches_a_pod_on_another_node() {
    if image::is_there("virtual machines on Veth ports") {
        guest_behind_tap("OVS", "vm-tap-ovs");
    }
}

#[test]
fn a_guest_behind_a_tap_over_a_veth_of_vpp_reaches_a_pod_on_another_node() {
    if vpp::moves_packets("a virtual machine on a Veth port of VPP")
        && image::is_there("virtual machines on Veth ports")
    {
        guest_behind_tap("VPP", "vm-tap-vpp");
    }
}

fn guest_behind_tap(engine: &str, network: &str) {
    let scene = Scene::new(network);
    let topology = json!({"type": "Overlay", "overlay": {}});
    scene.network(network, &json!({"engine": engine, "port": {"type": "Veth"}, "topology": topology}));
    let machine = Machine::apply_on_tap(&scene, "guest", network, NODES[0], LEFT, TAP);
    let peer = json!([{"name": network, "ips": [format!("{}/24", LEFT.peer)]}]);
    let mut peer = pod_without_volume(&scene, "peer", &peer.to_string());
    peer["spec"]["nodeName"] = json!(NODES[1]);
    apply(&peer);
    machine.await_pod();
    let namespace = format!("--net=/proc/{}/ns/net", machine.process());
    run("nsenter", &[&namespace, "sh", "-c", CONNECT, "connect", INTERFACE, TAP]);
    wait_running(&scene, "peer");
    machine.start();
    let (_, line) = machine.console.await_line("guest: mac");
    assert_eq!(line, format!("guest: mac {} mtu 1450", LEFT.mac));
    machine.console.await_line("guest: reached");
    machine.await_answers();
    machine.assert_untouched(1);
    println!("{engine}, Veth with a tap: booted {:?} after QEMU started", machine.boot_time());

    // What was done in the pod is not the agent's business, and DEL removes all of usnet's.
    wait_ready(network);
    let state = get(&["usns", NODES[0]]).unwrap();
    let of_network = |object: &&serde_json::Value| object["name"] == network;
    let observed =
        state["status"]["networks"].as_array().and_then(|networks| networks.iter().find(of_network)).cloned();
    assert!(observed.as_ref().is_none_or(|observed| observed["degraded"].is_null()), "{observed:?}");
    let pod = uid(&scene, "guest");
    machine.delete();
    eventually("everything of the pod is gone", || check(remains(&pod).is_empty(), remains(&pod)));
}
