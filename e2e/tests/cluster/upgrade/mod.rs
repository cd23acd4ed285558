//! Controller, agent and plugin are replaced by another version under running pods, forth and back:
//! `make upgrade-test`.
//!
//! [`release`] installs a version, and [`unchanged`] is what must be the same before and after: the
//! pods' ports in both engines, and counters that only grow.

mod release;
mod unchanged;

use crate::support::cluster::{NODES, check, eventually, get, vsctl};
use crate::support::pods::{NODE, await_packets, dpdk_pod, remains, sleeping_pod, start, testpmd_pod, uid};
use crate::support::scene::{self, Scene};
use crate::support::testpmd::{Driver, Program};
use crate::support::vpp;
use crate::support::vpp::requests::Requests;
use release::{Release, Releases};
use serde_json::{Value, json};
use unchanged::{Ports, Traffic};

/// The networks, each with the spec and how many pods of it run all the time.
const NETWORKS: [&str; 4] = ["up-vhost", "up-limited", "up-veth", "up-memif"];

fn spec(network: &str) -> Value {
    let addresses = |subnet: &str| json!({"type": "host-local", "ranges": [[{"subnet": subnet}]]});
    match network {
        "up-vhost" => json!({"ipam": addresses("10.57.1.0/24")}),
        "up-limited" => json!({
            "port": {"vlan": {"mode": "Access", "tag": 7}, "rateLimit": {"ingressKbps": 10_000, "egressKbps": 20_000}},
        }),
        "up-veth" => json!({"port": {"type": "Veth"}, "ipam": addresses("10.57.2.0/24")}),
        _ => json!({"engine": "VPP", "port": {"type": "Memif"}, "ipam": addresses("10.57.3.0/24")}),
    }
}

#[test]
fn a_new_version_and_the_one_before_replace_each_other_under_running_pods() {
    let Some(Releases { previous, current }) = Releases::from_environment() else {
        println!("SKIPPED: no other version of usnet in this test bed; `make upgrade-test` runs this");
        return;
    };
    previous.assert_installed();
    let scene = Scene::new("upgrade");
    for network in NETWORKS {
        scene.network(network, &spec(network));
    }
    let traffic = start_traffic(&scene);
    attach_one_to_each(&scene, "first");

    replace(&scene, &traffic, &current);
    detach_from_each(&scene, "first");
    attach_one_to_each(&scene, "second");

    replace(&scene, &traffic, &previous);
    detach_from_each(&scene, "second");
    attach_one_to_each(&scene, "third");
    detach_from_each(&scene, "third");

    traffic.report();
    assert_all_is_removed(scene);
}

/// Pods that send to each other on each engine that moves packets.
fn start_traffic(scene: &Scene) -> Traffic {
    let mut senders = vec![("ovs-left", "up-vhost"), ("ovs-right", "up-vhost")];
    for (pod, network) in &senders {
        start(scene, &testpmd_pod(scene, pod, network, "flowgen"));
    }
    if vpp::moves_packets("packets over VPP while usnet is replaced") {
        for pod in ["vpp-left", "vpp-right"] {
            start(scene, &dpdk_pod(scene, pod, "up-memif", Program::new(Driver::Memif, "flowgen")));
            senders.push((pod, "up-memif"));
        }
    }
    for (pod, _) in &senders {
        await_packets(scene, pod, 1);
    }
    Traffic::new(&scene.name, senders.into_iter().map(|(pod, _)| pod))
}

fn attach_one_to_each(scene: &Scene, prefix: &str) {
    for network in NETWORKS {
        start(scene, &sleeping_pod(scene, &format!("{prefix}-{network}"), network));
    }
    for network in NETWORKS {
        let expected = running(scene, network);
        eventually(&format!("the count of pods on {network}"), || {
            let status = get(&["usn", network]).ok_or("no such network")?["status"].clone();
            check(status["attachments"] == expected, status.to_string())
        });
    }
    println!("attached: {prefix}-… on each of {NETWORKS:?}");
}

/// Returns the number of the scene's pods on a network.
fn running(scene: &Scene, network: &str) -> usize {
    let pods = get(&["pods", "-n", &scene.name]).unwrap();
    let annotation = |pod: &Value| pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] == network;
    pods["items"].as_array().unwrap().iter().filter(|pod| annotation(pod)).count()
}

fn detach_from_each(scene: &Scene, prefix: &str) {
    for network in NETWORKS {
        let pod = format!("{prefix}-{network}");
        let gone = uid(scene, &pod);
        scene.delete_pod(&pod);
        eventually("everything of the pod is gone", || check(remains(&gone).is_empty(), remains(&gone)));
        let left = running(scene, network);
        eventually("its port is gone", || {
            let ports = unchanged::count(network);
            check(ports == left, format!("{network}: {ports} ports, {left} pods"))
        });
    }
    println!("detached without remains: {prefix}-… from each of {NETWORKS:?}");
}

/// Replaces usnet, and asserts that this changed nothing for the pods that run.
fn replace(scene: &Scene, traffic: &Traffic, release: &Release) {
    let before = Ports::read(&NETWORKS);
    let requests = Requests::watch(NODE);
    let received = traffic.received();
    release.install();
    for network in NETWORKS {
        scene::wait_ready(network);
    }
    let after = Ports::read(&NETWORKS);
    before.assert_same(&after, &requests);
    let now = traffic.await_more(&received);
    println!("{release}: ports unchanged ({before}), packets received {received:?} -> {now:?}");
    let events = scene.events("ovs-left");
    assert!(!events.contains("Killing"), "{events}");
}

fn assert_all_is_removed(scene: Scene) {
    drop(scene);
    for network in NETWORKS {
        assert_eq!(scene::remains(network), Vec::<String>::new());
    }
    for node in NODES {
        let tags: Vec<String> = vpp::tags(node).into_iter().filter(|tag| tag.starts_with("us")).collect();
        assert_eq!(tags, Vec::<String>::new(), "tags of usnet in VPP on {node}");
        assert_eq!(vsctl(node, &["--bare", "--columns=_uuid", "list", "QoS"]), "");
    }
    println!("nothing is left on {NODE} and its peer");
}
