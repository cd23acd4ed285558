//! Networks as extended resources of nodes, which the real scheduler and kubelet allocate.

use crate::support::cluster::{apply, check, eventually, get, kubectl, on_node, run, try_run};
use crate::support::pods::{NODE, await_packets, sleeping_pod, start, uid, wait_running};
use crate::support::scene::{Scene, agent_pod};
use crate::support::testpmd::{Driver, Program};
use crate::support::vpp::moves_packets;
use serde_json::{Value, json};

/// A network for node-b alone.
fn elsewhere(devices: i64) -> Value {
    json!({"nodeSelector": {"matchLabels": {"kubernetes.io/hostname": "node-b"}}, "devicePlugin": {"devices": devices}})
}

/// Takes the volume from a pod and has it ask for devices, and leaves the choice of a node to the
/// scheduler.
fn with_devices(mut pod: Value, network: &str, devices: u32) -> Value {
    let resource = format!("usnet.dev/{network}");
    let container = &mut pod["spec"]["containers"][0];
    container["resources"]["limits"][&resource] = json!(devices.to_string());
    container["volumeMounts"] = json!([]);
    pod["spec"]["volumes"] = json!([]);
    pod["spec"].as_object_mut().unwrap().remove("nodeName");
    pod
}

/// A pod whose DPDK program drives its interfaces in the folders of its devices, wherever they are.
fn dpdk_pod(scene: &Scene, name: &str, networks: &str, mode: &str, driver: Driver) -> Value {
    let program = Program::new(driver, mode);
    let mut pod = crate::support::pods::dpdk_pod(scene, name, networks, program);
    let command = program.command(networks.split(',').count()).into_iter().map(|word| {
        (1..=9).fold(word, |word, number| {
            let found = format!("$(dirname /run/usnet.dev/*/net{number}.json)/net{number}.sock");
            word.replace(&format!("/run/usnet/net{number}.sock"), &found)
        })
    });
    let command = format!("exec {}", command.collect::<Vec<_>>().join(" "));
    pod["spec"]["containers"][0]["command"] = json!(["sh", "-c", command]);
    pod
}

/// Returns a sleeping pod with a device of a network, and without a volume.
fn device_pod(scene: &Scene, name: &str, network: &str) -> Value {
    with_devices(sleeping_pod(scene, name, network), network, 1)
}

/// Returns the number of allocatable devices of a network on a node.
fn allocatable(node: &str, network: &str) -> Option<String> {
    let node = get(&["node", node]).unwrap();
    node["status"]["allocatable"][format!("usnet.dev/{network}")].as_str().map(str::to_owned)
}

#[track_caller]
fn await_allocatable(node: &str, network: &str, devices: Option<&str>) {
    eventually("the node's resource", || {
        let observed = allocatable(node, network);
        check(observed.as_deref() == devices, format!("{observed:?}"))
    });
}

fn node_of(scene: &Scene, pod: &str) -> String {
    get(&["pod", pod, "-n", &scene.name]).unwrap()["spec"]["nodeName"].as_str().unwrap_or_default().to_owned()
}

/// Waits until the scheduler says that no node has a device left.
fn await_pending(scene: &Scene, pod: &str, network: &str) {
    scene.await_refusal(pod, &[&format!("Insufficient usnet.dev/{network}")]);
    assert_eq!(node_of(scene, pod), "");
}

/// The folders of devices on a node, and what is mounted there.
fn folders(node: &str) -> String {
    on_node(
        node,
        &["sh", "-c", "ls -A /run/usnet/devices 2>/dev/null; grep '/run/usnet/devices' /proc/self/mountinfo; true"],
    )
}

#[test]
fn pods_get_their_sockets_by_devices_of_the_node_that_has_the_network() {
    let scene = Scene::new("devices");
    scene.network("devices", &elsewhere(2));
    let definition = get(&["net-attach-def", "devices", "-n", &scene.name]).unwrap();
    assert_eq!(definition["metadata"]["annotations"]["k8s.v1.cni.cncf.io/resourceName"], "usnet.dev/devices");
    await_allocatable("node-b", "devices", Some("2"));
    assert_eq!(allocatable(NODE, "devices"), None);

    for (name, mode) in [("left", "flowgen"), ("right", "rxonly")] {
        let pod = dpdk_pod(&scene, name, "devices", mode, Driver::VhostServer);
        start(&scene, &with_devices(pod, "devices", 1));
        assert_eq!(node_of(&scene, name), "node-b");
    }
    await_packets(&scene, "right", 1);
    // Multus has the plugin tell where the socket is, as the pod's program sees it.
    let right = get(&["pod", "right", "-n", &scene.name]).unwrap();
    let status = right["metadata"]["annotations"]["k8s.v1.cni.cncf.io/network-status"].as_str().unwrap();
    assert!(status.contains("\"path\": \"/run/usnet.dev/devices-"), "{status}");

    apply(&device_pod(&scene, "third", "devices"));
    await_pending(&scene, "third", "devices");
    let left = uid(&scene, "left");
    scene.delete_pod("left");
    wait_running(&scene, "third");
    eventually("nothing is left", || {
        let found = on_node(
            "node-b",
            &[
                "sh",
                "-c",
                &format!("grep -ls '{left}' /var/lib/usnet/attachments/*; grep '{left}' /proc/self/mountinfo; true"),
            ],
        );
        check(found.is_empty(), found)
    });
    let seen = kubectl(&[
        "exec",
        "third",
        "-n",
        &scene.name,
        "--",
        "busybox",
        "sh",
        "-c",
        "cd $USNET_DEVICES_DEVICES && echo *",
    ]);
    assert_eq!(seen.trim(), "net1.json", "the folder is the pod's own");
    scene.delete_pods(["right", "third"]);
    eventually("all folders are gone", || {
        let found = folders("node-b");
        check(found.is_empty(), found)
    });
}

/// Makes the scheduler place a pod on [`NODE`]: a pod that is bound to its node directly would be
/// rejected permanently instead of waiting.
fn on_the_node(mut pod: Value) -> Value {
    pod["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": NODE});
    pod
}

fn flowing(scene: &Scene) {
    let before = await_packets(scene, "right", 1);
    eventually("more packets", || {
        let now = await_packets(scene, "right", 1);
        check(now > before, format!("{now:?}"))
    });
}

#[test]
fn pods_keep_running_and_new_ones_wait_while_kubelet_engine_or_network_is_missing() {
    let scene = Scene::new("rooms");
    scene.network("rooms", &json!({"devicePlugin": {"devices": 4}}));
    await_allocatable(NODE, "rooms", Some("4"));
    for (name, mode) in [("left", "flowgen"), ("right", "rxonly")] {
        let pod = dpdk_pod(&scene, name, "rooms", mode, Driver::VhostServer);
        start(&scene, &on_the_node(with_devices(pod, "rooms", 1)));
    }
    flowing(&scene);

    // Kubelet removes all sockets in its folder when it starts, and knows no resource before it is
    // told again.
    run("component", &["stop", "kubelet", NODE]);
    run("component", &["start", "kubelet", NODE]);
    eventually("the resource is offered again", || {
        let log = try_run("kubectl", &["logs", &agent_pod(NODE), "-n", "usnet-system"], "")?;
        let reported =
            log.lines().filter(|line| line.contains("registered with kubelet") && line.contains("rooms")).count();
        check(reported >= 2, log)
    });
    await_allocatable(NODE, "rooms", Some("4"));
    start(&scene, &on_the_node(device_pod(&scene, "after-kubelet", "rooms")));
    flowing(&scene);

    run("component", &["stop", "ovs-vswitchd", NODE]);
    run("component", &["stop", "ovsdb-server", NODE]);
    await_allocatable(NODE, "rooms", Some("0"));
    apply(&on_the_node(device_pod(&scene, "after-engine", "rooms")));
    await_pending(&scene, "after-engine", "rooms");
    run("component", &["start", "ovsdb-server", NODE]);
    run("component", &["start", "ovs-vswitchd", NODE]);
    await_allocatable(NODE, "rooms", Some("4"));
    wait_running(&scene, "after-engine");
    flowing(&scene);
    scene.delete_pod("after-engine");

    // The node loses the network: it drains, and kubelet knows the resource as long as a pod has a
    // device of it.
    scene.apply_network("rooms", &elsewhere(4));
    await_allocatable(NODE, "rooms", Some("0"));
    apply(&on_the_node(device_pod(&scene, "after-network", "rooms")));
    await_pending(&scene, "after-network", "rooms");
    flowing(&scene);
    scene.apply_network("rooms", &json!({"devicePlugin": {"devices": 4}}));
    wait_running(&scene, "after-network");
    flowing(&scene);
}

#[test]
fn a_pod_has_as_many_devices_as_interfaces_and_none_of_another_pod() {
    let scene = Scene::new("pairs");
    scene.network("pairs", &json!({"devicePlugin": {"devices": 12}}));
    await_allocatable(NODE, "pairs", Some("12"));
    let pod = dpdk_pod(&scene, "both", "pairs,pairs", "flowgen", Driver::VhostServer);
    start(&scene, &on_the_node(with_devices(pod, "pairs", 2)));
    await_packets(&scene, "both", 2);

    // A definition by hand may name any device.
    let config = json!({"cniVersion": "1.1.0", "name": "forged", "type": "userspace", "network": "pairs", "deviceID": "pairs-0"});
    apply(&json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": "forged", "namespace": scene.name}, "spec": {"config": config.to_string()},
    }));
    apply(&sleeping_pod(&scene, "thief", "forged"));
    scene.await_refusal("thief", &["pairs-0", "which kubelet did not allocate"]);
    // Without a device and without a volume there is no place for a socket.
    let mut homeless = on_the_node(device_pod(&scene, "homeless", "pairs"));
    homeless["spec"]["containers"][0]["resources"] = json!({});
    apply(&homeless);
    scene.await_refusal("homeless", &["usnet.dev/pairs", "emptyDir"]);
    // A pod with a device and no interface cannot fill the node's memory.
    let mut unattached = on_the_node(device_pod(&scene, "unattached", "pairs"));
    unattached["metadata"]["annotations"] = json!({});
    start(&scene, &unattached);
    let write = "busybox dd if=/dev/zero of=$USNET_DEVICES_PAIRS/large bs=1M count=4";
    let write = ["exec", "unattached", "-n", &scene.name, "--", "busybox", "sh", "-c", write];
    let refused = try_run("kubectl", &write, "").unwrap_err();
    assert!(refused.contains("No space left on device"), "{refused}");
    // A pod with a volume needs no device.
    start(&scene, &sleeping_pod(&scene, "as-before", "pairs"));
}

#[test]
fn memifs_are_in_devices_too() {
    let scene = Scene::new("vpprooms");
    scene.network("vpprooms", &json!({"engine": "VPP", "devicePlugin": {"devices": 2}}));
    await_allocatable(NODE, "vpprooms", Some("2"));
    if !moves_packets("memifs in devices") {
        start(&scene, &on_the_node(device_pod(&scene, "alone", "vpprooms")));
        return;
    }
    for (name, mode) in [("left", "flowgen"), ("right", "rxonly")] {
        let pod = dpdk_pod(&scene, name, "vpprooms", mode, Driver::Memif);
        start(&scene, &on_the_node(with_devices(pod, "vpprooms", 1)));
    }
    await_packets(&scene, "right", 1);
}
