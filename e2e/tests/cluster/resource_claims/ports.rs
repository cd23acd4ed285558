//! Packets over claimed ports, and the information for pods and the scheduler.

use super::{
    FOLDER, METADATA, await_device, await_nothing_left, claim_of, claiming_pod, devices_of, dpdk_pod, is_supported,
    network, network_on_node, node_of, template,
};
use crate::support::cluster::{apply, check, eventually};
use crate::support::pods::{NODE, await_packets, in_pod, start, wait_running};
use crate::support::scene::Scene;
use crate::support::testpmd::Driver;
use crate::support::vpp::moves_packets;
use serde_json::{Value, json};

#[test]
fn pods_get_vhost_user_ports_by_claims_alone_on_the_node_that_has_the_network() {
    if !is_supported() {
        return;
    }
    let scene = Scene::new("claims");
    scene.network("claims", &network("node-b", "OVS", 2));
    await_device("node-b", "claims");
    assert_eq!(devices_of(NODE, "claims"), [Value::Null; 0]);
    template(&scene, "port", "claims", &json!({"mac": "02:00:00:00:00:77"}));
    template(&scene, "plain", "claims", &Value::Null);
    start(&scene, &dpdk_pod(&scene, "left", "plain", "flowgen", Driver::VhostServer));
    start(&scene, &dpdk_pod(&scene, "right", "port", "rxonly", Driver::VhostServer));
    assert_eq!((node_of(&scene, "left").as_str(), node_of(&scene, "right").as_str()), ("node-b", "node-b"));
    await_packets(&scene, "right", 1);

    // What the program is told, and what users see.
    let path = format!("{FOLDER}/claim1.sock");
    let metadata: Value = serde_json::from_str(&in_pod(&scene, "right", METADATA)).unwrap();
    let attributes = &metadata["requests"][0]["devices"][0]["attributes"];
    assert_eq!((&attributes["vhost-user-path"]["string"], &attributes["mtu"]["int"]), (&json!(path), &json!(1500)));
    assert_eq!(
        in_pod(&scene, "right", "echo $USNET_CLAIM_UPLINK_PORT; ls $USNET_CLAIM_UPLINK_PORT"),
        format!("{FOLDER}\nclaim1.json\nclaim1.sock\n")
    );
    eventually("the status of the claim", || {
        let data = claim_of(&scene, "right")["status"]["devices"][0]["networkData"].take();
        let expected = ("claim1", "02:00:00:00:00:77");
        let found = (data["interfaceName"].as_str().unwrap_or(""), data["hardwareAddress"].as_str().unwrap_or(""));
        check(found == expected, format!("{data}"))
    });

    apply(&claiming_pod(&scene, "third", "plain"));
    scene.await_refusal("third", &["cannot allocate all claims"]);
    scene.delete_pod("left");
    wait_running(&scene, "third");
    scene.delete_pods(["right", "third"]);
    await_nothing_left("node-b");
}

#[test]
fn pods_get_memifs_by_claims() {
    if !is_supported() {
        return;
    }
    let scene = Scene::new("vppclaims");
    scene.network("vppclaims", &network_on_node("VPP", 8));
    await_device(NODE, "vppclaims");
    template(&scene, "port", "vppclaims", &Value::Null);
    if moves_packets("memifs of claims") {
        for (name, mode) in [("left", "flowgen"), ("right", "rxonly")] {
            start(&scene, &dpdk_pod(&scene, name, "port", mode, Driver::Memif));
        }
        await_packets(&scene, "right", 1);
        scene.delete_pods(["left", "right"]);
    } else {
        start(&scene, &claiming_pod(&scene, "alone", "port"));
        scene.delete_pod("alone");
    }
    await_nothing_left(NODE);
}
