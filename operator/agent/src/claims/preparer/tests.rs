//! Prepare and unprepare with a service for attachments that can fail.

use super::fake_node::{Node, networks};
use super::*;
use crate::claims::claim::tests::claim as example;
use crate::claims::metadata;
use crate::testing::network;
use serde_json::json;
use std::time::Instant;
use usnet_crds::{NodeNetwork, Phase};
use usnet_dataplane::journal::LOCK_TIMEOUT;

#[tokio::test]
async fn a_claim_is_prepared_and_unprepared() {
    let node = Node::new();
    let [device] = node.prepare().await.unwrap().try_into().unwrap();
    assert_eq!(device.cdi_device_ids, ["usnet.dev/port=c-1-port"]);
    assert_eq!((device.request_names, device.device_name.as_str()), (vec!["port".to_owned()], "blue"));
    assert_eq!((device.pool_name.as_str(), device.share_id.as_deref()), ("node-a", Some("s-1")));
    let record = node.preparer.records.read(&"c-1".parse().unwrap()).unwrap().unwrap();
    assert_eq!(record.ports.first().unwrap().attached.as_ref().unwrap().socket.as_deref(), Some("net7.sock"));
    let spec = fs::read_to_string(cdi::path(&node.paths, &record.uid)).unwrap();
    assert!(spec.contains("/run/usnet.dev/uplink/port"), "{spec}");
    let metadata = fs::read_to_string(metadata::path(&node.paths, &record, "port")).unwrap();
    assert!(metadata.contains("/run/usnet.dev/uplink/port/net7.sock"), "{metadata}");
    assert!(!record.is_reported);
    node.unprepare().await.unwrap();
    assert_eq!((node.calls(), node.left()), (vec!["ADD net7".to_owned(), "DEL net7".to_owned()], vec![]));
}

/// The reconcilers lock attachments on the same thread, across waits.
#[tokio::test]
async fn prepare_does_not_wait_for_the_lock_of_an_attachment() {
    let node = Node::new();
    *node.plugin.is_locked_next.lock().unwrap() = true;
    let started = Instant::now();
    node.prepare().await.unwrap();
    node.prepare().await.unwrap();
    assert!(started.elapsed() < LOCK_TIMEOUT);
    assert_eq!((node.calls(), node.plugin.locked.lock().unwrap().len()), (vec!["ADD net7".to_owned()], 1));
}

#[tokio::test]
async fn both_may_be_repeated_and_nothing_is_attached_twice() {
    let mut node = Node::new();
    let first = node.prepare().await.unwrap();
    node.restart();
    assert_eq!(node.prepare().await.unwrap(), first);
    assert_eq!(node.calls(), ["ADD net7"]);
    node.unprepare().await.unwrap();
    node.unprepare().await.unwrap();
    assert_eq!(node.calls(), ["DEL net7"]);
}

/// kubelet prepares again then, and the folder of the port is gone.
#[tokio::test]
async fn after_a_reboot_the_port_is_attached_anew() {
    let node = Node::new();
    node.prepare().await.unwrap();
    fs::remove_dir_all(&node.paths.run).unwrap();
    fs::remove_dir_all(&node.paths.cdi).unwrap();
    node.prepare().await.unwrap();
    assert_eq!(node.calls(), ["ADD net7", "DEL net7", "ADD net7"]);
    assert!(cdi::path(&node.paths, &"c-1".parse().unwrap()).exists());
}

#[tokio::test]
async fn a_failed_attachment_is_retried_and_released() {
    let node = Node::new();
    node.fail("network blue is not programmed on this node");
    let refused = node.prepare().await.unwrap_err();
    assert_eq!(
        refused,
        "interface net7 of network blue cannot be attached: network blue is not programmed on this node"
    );
    assert_eq!(node.left(), ["c-1.json"], "the record stays until kubelet gives up");
    node.prepare().await.unwrap();
    node.unprepare().await.unwrap();
    node.fail("x");
    node.prepare().await.unwrap_err();
    node.unprepare().await.unwrap();
    assert_eq!(node.left(), [""; 0]);
}

/// The agent was killed after ADD and before the port was recorded with the claim.
#[tokio::test]
async fn an_agent_that_was_killed_during_prepare_finds_the_port() {
    let mut node = Node::new();
    node.prepare().await.unwrap();
    let mut record = node.preparer.records.read(&"c-1".parse().unwrap()).unwrap().unwrap();
    for port in &mut record.ports {
        port.attached = None;
    }
    node.preparer.records.write(&record).unwrap();
    files::remove(&node.paths, &record.uid).unwrap();
    node.restart();
    node.prepare().await.unwrap();
    assert_eq!(node.calls(), ["ADD net7"]);
    assert!(node.preparer.records.read(&record.uid).unwrap().unwrap().is_prepared());
}

#[tokio::test]
async fn a_claim_that_is_gone_is_unprepared_by_its_records() {
    let mut node = Node::new();
    node.prepare().await.unwrap();
    *node.api.claim.lock().unwrap() = None;
    node.networks.send_replace(Some(Arc::default()));
    node.restart();
    node.unprepare().await.unwrap();
    assert_eq!(node.left(), [""; 0]);
    assert!(node.prepare().await.unwrap_err().contains("there is no claim default/web-uplink-x7"));
}

#[tokio::test]
async fn a_damaged_record_does_not_keep_a_pod() {
    let node = Node::new();
    node.prepare().await.unwrap();
    fs::write(node.paths.claims().join("c-1.json"), "{").unwrap();
    node.unprepare().await.unwrap();
    assert_eq!((node.calls().pop().as_deref(), node.left()), (Some("DEL net7"), vec![]));
}

/// The agent removes the port later, as that of any pod.
#[tokio::test]
async fn an_engine_that_is_down_does_not_keep_a_pod() {
    let node = Node::new();
    node.prepare().await.unwrap();
    *node.plugin.is_engine_down.lock().unwrap() = true;
    node.unprepare().await.unwrap();
    assert_eq!(node.left(), [""; 0]);
    node.unprepare().await.unwrap();
    assert_eq!(node.calls(), ["ADD net7", "DEL net7"]);
}

#[tokio::test]
async fn a_failed_detachment_is_retried() {
    let node = Node::new();
    node.prepare().await.unwrap();
    node.fail("busy");
    assert_eq!(node.unprepare().await.unwrap_err(), "interface net7 cannot be detached: busy");
    assert!(!node.left().is_empty());
    node.unprepare().await.unwrap();
    assert_eq!(node.left(), [""; 0]);
}

/// The same claim was allocated again after its pod was deleted.
#[tokio::test]
async fn another_allocation_replaces_what_is_left_of_the_first() {
    let node = Node::new();
    node.prepare().await.unwrap();
    node.change(|claim| claim["status"]["reservedFor"][0] = json!({"resource": "pods", "name": "next", "uid": "p-2"}));
    node.prepare().await.unwrap();
    assert_eq!(node.calls(), ["ADD net7", "DEL net7", "ADD net7"]);
    let record = node.preparer.records.read(&"c-1".parse().unwrap()).unwrap().unwrap();
    assert_eq!(record.pod.name, "next");
}

#[tokio::test]
async fn what_is_refused_leaves_nothing() {
    let node = Node::new();
    let second = json!({"resource": "pods", "name": "other", "uid": "p-2"});
    node.change(|claim| claim["status"]["reservedFor"].as_array_mut().unwrap().push(second));
    assert!(node.prepare().await.unwrap_err().contains("reserved for 2 pods"));
    node.change(|claim| *claim = example());
    node.change(|claim| {
        claim["status"]["allocation"]["devices"]["config"][0]["opaque"]["parameters"]["colour"] = json!("red");
    });
    assert!(node.prepare().await.unwrap_err().contains("colour"));
    node.change(|claim| *claim = example());
    for (network, expected) in [
        (NodeNetwork { phase: Phase::Draining, ..network("blue") }, "is being deleted"),
        (NodeNetwork { namespaces: ["db"].into_iter().collect(), ..network("blue") }, "may not use network blue"),
        (network("red"), "belongs to no network"),
    ] {
        node.networks.send_replace(networks(network));
        let refused = node.prepare().await.unwrap_err();
        assert!(refused.contains(expected), "{refused}");
    }
    assert_eq!((node.calls(), node.left()), (vec![], vec![]));
}

/// Each change is reported once, also after failures and restarts.
#[tokio::test]
async fn the_devices_of_a_claim_are_reported_once() {
    let mut node = Node::new();
    let reported = |node: &Node| node.api.reported.lock().unwrap().len();
    node.prepare().await.unwrap();
    *node.api.is_down.lock().unwrap() = true;
    assert!(node.reporter().report_all().await.is_err());
    *node.api.is_down.lock().unwrap() = false;
    {
        let uid = "c-1".parse().unwrap();
        let _prepared_again = node.preparer.busy.enter(&uid).unwrap();
        assert!(!node.reporter().report_all().await.unwrap(), "it may have changed");
    }
    assert!(node.reporter().report_all().await.unwrap());
    assert_eq!(reported(&node), 2);
    node.restart();
    node.prepare().await.unwrap();
    assert!(node.reporter().report_all().await.unwrap());
    assert_eq!(reported(&node), 2, "nothing has changed");

    // Another port.
    fs::remove_dir_all(&node.paths.run).unwrap();
    node.change(|claim| claim["status"]["reservedFor"][0] = json!({"resource": "pods", "name": "next", "uid": "p-2"}));
    node.prepare().await.unwrap();
    assert!(node.reporter().report_all().await.unwrap());
    assert_eq!(reported(&node), 3);

    // Its claim is deleted before.
    node.unprepare().await.unwrap();
    node.prepare().await.unwrap();
    *node.api.claim.lock().unwrap() = None;
    assert!(node.reporter().report_all().await.unwrap());
    assert!(node.preparer.records.read(&"c-1".parse().unwrap()).unwrap().unwrap().is_reported);
}

/// Running pods keep what they have when kubelet prepares their claim again.
#[tokio::test]
async fn a_prepared_claim_of_a_draining_network_stays() {
    let node = Node::new();
    node.prepare().await.unwrap();
    node.networks.send_replace(networks(NodeNetwork { phase: Phase::Draining, ..network("blue") }));
    node.prepare().await.unwrap();
    assert_eq!(node.calls(), ["ADD net7"]);
}
