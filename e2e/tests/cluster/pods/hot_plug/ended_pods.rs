//! Interfaces of ended pods: Multus detaches them only if it is called twice, its controller does
//! not, and usnet's garbage collection does.

use super::{HotPlug, daemon, element, plugged_pod, ports};
use crate::support::cluster::{apply, check, eventually, get, kubectl, on_node};
use crate::support::collector::QuickCollector;
use crate::support::pods::{NODE, uid, wait_running};
use crate::support::scene::wait_ready;
use serde_json::{Value, json};
use std::time::Instant;

/// The log of the Multus that the runtime calls.
const MULTUS_LOG: &str = "/var/log/multus.log";

fn on(node: &str) -> Value {
    json!({"nodeSelector": {"matchLabels": {"kubernetes.io/hostname": node}}})
}

/// What is left on the node of a pod that is gone.
fn left_of(uid: &str) -> String {
    let script = format!(
        "grep -ls '{uid}' /var/lib/usnet/attachments/*; grep '/run/usnet/ports/{uid}' /proc/self/mountinfo; \
         ls /run/usnet/ports | grep '{uid}'; ovs-vsctl --bare --columns=options list Interface | grep '{uid}'; true"
    );
    on_node(NODE, &["sh", "-c", &script])
}

#[test]
fn interfaces_of_pods_that_end_are_collected_also_if_they_were_just_being_attached() {
    let Some(plug) = HotPlug::new("plugend") else { return };
    let scene = &plug.scene;
    scene.apply_network("plugend", &json!({}));
    scene.apply_network("plugend-late", &on("node-b"));
    ["plugend", "plugend-late"].iter().for_each(|network| wait_ready(network));
    ["attached", "attaching"].iter().for_each(|pod| apply(&plugged_pod(scene, pod, &[])));
    ["attached", "attaching"].iter().for_each(|pod| wait_running(scene, pod));
    let uids = ["attached", "attaching"].map(|pod| uid(scene, pod));
    plug.select("attached", &[element("plugend", "net7")]);
    plug.await_status("attached", &["net7"]);

    // ADD waits 3 s for the network, which comes to the node while the pod ends.
    plug.select("attaching", &[element("plugend-late", "net7")]);
    daemon::await_log(&["ADD starting delegate request", "K8S_POD_NAME=attaching;"]);
    kubectl(&["delete", "pod", "attached", "attaching", "-n", &scene.name, "--grace-period=1", "--wait=false"]);
    scene.apply_network("plugend-late", &on(NODE));
    daemon::await_log(&["ADD finished Delegate request", "K8S_POD_NAME=attaching;"]);
    for pod in ["attached", "attaching"] {
        eventually("the pod is gone", || check(get(&["pod", pod, "-n", &scene.name]).is_none(), "still there"));
    }
    // Multus' first DEL of a sandbox is for what its ADD attached. A second one, which kubelet may
    // cause while the pod exists, is for the annotation, and detaches.
    let by_multus = on_node(
        NODE,
        &["sh", "-c", &format!("grep 'Del: plugend:attached:{}:plugend:net7' {MULTUS_LOG}; true", uids[0])],
    );
    let is_left = left_of(&uids[0]).contains(".net7.json");
    assert!(is_left || !by_multus.is_empty(), "neither Multus nor its controller detached it");
    println!("Multus was called {} for the sandbox", if by_multus.is_empty() { "once" } else { "twice" });

    let begun = Instant::now();
    let _collector = QuickCollector::start(NODE);
    for uid in &uids {
        eventually("the interface is collected", || check(left_of(uid).is_empty(), left_of(uid)));
    }
    println!(
        "interfaces that nothing detached were collected {:.1} s after their pods, with a grace period of 1 s",
        begun.elapsed().as_secs_f64()
    );
    for network in ["plugend", "plugend-late"] {
        eventually("the engine has no port", || check(ports("OVS", network) == 0, network));
    }
}
