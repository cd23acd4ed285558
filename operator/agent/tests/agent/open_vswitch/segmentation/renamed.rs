//! What pods do with their interfaces while they leave checksums to the switch.

use super::scene::{Scene, leaves_checksums};
use crate::support::tcp::Namespace;

/// A program with the privileges in a pod can rename its interface.
#[test]
fn a_pod_that_has_renamed_its_interface_gets_whole_packets_again() {
    let mut scene = Scene::start("true");
    scene.wait_until_left();
    for pod in &scene.pods {
        rename(pod, "net1", "other0");
        // A device of the pod's own, with the name that the interface had.
        pod.ip("link add net1 type veth peer name own0");
    }
    scene.set("false");
    scene.wait_until_allowed(false);
    scene.follow();
    assert!(scene.pods.iter().all(|pod| !leaves_checksums(pod, "other0")));
    assert!(scene.pods.iter().all(|pod| leaves_checksums(pod, "net1")), "what is the pod's own is left");
    scene.restart();
    assert!(scene.transfer(1_000_000).is_some());
}

fn rename(pod: &Namespace, from: &str, to: &str) {
    let address = pod.output(&format!("ip -o -4 addr show dev {from}"));
    let address = address.split_whitespace().nth(3).expect("an address").to_owned();
    for command in ["down", &format!("name {to}")] {
        pod.ip(&format!("link set {from} {command}"));
    }
    pod.ip(&format!("link set {to} up"));
    pod.ip(&format!("addr replace {address} dev {to}"));
}
