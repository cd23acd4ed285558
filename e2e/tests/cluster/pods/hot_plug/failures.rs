//! What cannot be plugged is refused with the reason, and leaves what was there as it was.

use super::daemon::{self, Propagation};
use super::delegate::{Sandbox, delegate};
use super::{HotPlug, await_gone, element, ports, remains, sleeper};
use crate::support::cluster::{check, eventually, get, kubectl, on_node};
use crate::support::pods::{NODE, description, pod_without_volume, start, uid, wait_running};
use crate::support::scene::{Scene, wait_ready};
use serde_json::{Value, json};
use std::thread;
use std::time::Instant;

#[test]
fn what_cannot_be_plugged_is_refused_and_what_is_attached_stays() {
    let Some(plug) = HotPlug::new("plugfail") else { return };
    let scene = &plug.scene;
    ["plugfail-a", "plugfail-b"].iter().for_each(|network| scene.apply_network(network, &json!({})));
    scene.apply_network("plugfail-device", &json!({"devicePlugin": {"devices": 2}}));
    ["plugfail-a", "plugfail-b", "plugfail-device"].iter().for_each(|network| wait_ready(network));

    names_that_are_taken(&plug);
    elements_without_an_interface(&plug);
    pods_without_volume_or_device(&plug);
    devices_of_pods(&plug);
    requests_at_the_same_time(&plug);
    twenty_interfaces(&plug);
}

fn names_that_are_taken(plug: &HotPlug) {
    let scene = &plug.scene;
    let first = element("plugfail-a", "net1");
    start(scene, &sleeper(scene, "taken", std::slice::from_ref(&first)));
    let before = (description(scene, "taken", "net1"), remains(&uid(scene, "taken"), "net1"));
    assert!(before.1.contains("net1.json"), "{before:?}");

    plug.select("taken", &[first.clone(), element("plugfail-b", "net1")]);
    plug.await_refusal("taken", "net1", &["is already attached, with other parameters (network"]);
    plug.await_attempts("taken", "net1");
    assert_eq!((description(scene, "taken", "net1"), remains(&uid(scene, "taken"), "net1")), before);
    assert_eq!(ports("OVS", "plugfail-a"), 1);

    plug.select("taken", &[first.clone(), element("plugfail-b", "eth0")]);
    plug.await_refusal("taken", "eth0", &["eth0"]);
    plug.select("taken", &[first]);
    plug.await_status("taken", &["net1"]);
    assert_eq!(ports("OVS", "plugfail-b"), 0);
}

/// Multus gave the interface a name when the pod started, and the controller does not know it.
fn elements_without_an_interface(plug: &HotPlug) {
    let scene = &plug.scene;
    let nameless = json!({"name": "plugfail-a"});
    start(scene, &sleeper(scene, "nameless", std::slice::from_ref(&nameless)));
    plug.select("nameless", &[nameless, element("plugfail-b", "net7")]);
    plug.await_refusal("nameless", "", &[]);
    plug.await_status("nameless", &["net1"]);
    assert!(remains(&uid(scene, "nameless"), "net1").contains("net1.json"), "it stays attached");
    scene.delete_pod("nameless");
}

fn pods_without_volume_or_device(plug: &HotPlug) {
    let scene = &plug.scene;
    start(scene, &pod_without_volume(scene, "homeless", ""));
    for (network, reason) in
        [("plugfail-a", "has no emptyDir volume"), ("plugfail-device", "has neither an unused device")]
    {
        plug.select("homeless", &[element(network, "net7")]);
        plug.await_refusal("homeless", "net7", &[reason]);
        assert_eq!(remains(&uid(scene, "homeless"), "net7"), "");
    }
    scene.delete_pod("homeless");
}

/// The folder of a device is in the container from its start on.
fn devices_of_pods(plug: &HotPlug) {
    let scene = &plug.scene;
    let mut pod = pod_without_volume(scene, "device", "");
    pod["spec"]["containers"][0]["resources"]["limits"]["usnet.dev/plugfail-device"] = json!("1");
    pod["spec"].as_object_mut().unwrap().remove("nodeName");
    pod["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": NODE});
    start(scene, &pod);
    let select = || plug.select("device", &[element("plugfail-device", "net7")]);
    select();
    plug.await_status("device", &["net7"]);
    let folder = "cd $USNET_PLUGFAIL_DEVICE_DEVICES && cat net7.json";
    let described = crate::support::pods::in_pod(scene, "device", folder);
    let described: Value = serde_json::from_str(&described).unwrap();
    assert_eq!((&described["network"], &described["socket"]), (&json!("plugfail-device"), &json!("net7.sock")));
    plug.select("device", &[]);
    plug.await_status("device", &[]);
    await_gone(scene, "device", "net7");
    // The file system of the device went with the interface.
    select();
    plug.await_refusal("device", "net7", &["cannot be attached again", "plugfail-device-"]);
    scene.delete_pod("device");
}

/// Two calls for one interface, and changes of the annotation before the last one is done.
fn requests_at_the_same_time(plug: &HotPlug) {
    let scene = &plug.scene;
    let pod = get(&["pod", "taken", "-n", &scene.name]).unwrap();
    let sandbox = Sandbox::of(&pod).unwrap();
    let add = || delegate("ADD", &pod, &sandbox, &element("plugfail-b", "net6"));
    let results = thread::scope(|scope| [(); 2].map(|()| scope.spawn(add)).map(|call| call.join().unwrap()));
    assert!(results[0].is_ok() && results[0] == results[1], "{results:?}");
    delegate("DEL", &pod, &sandbox, &element("plugfail-b", "net6")).unwrap();
    await_gone(scene, "taken", "net6");

    let at = |interfaces: &[&str]| -> Vec<Value> {
        let hot = interfaces.iter().map(|interface| element("plugfail-b", interface));
        std::iter::once(element("plugfail-a", "net1")).chain(hot).collect()
    };
    for interfaces in [&["net7"][..], &["net7", "net8"], &["net8", "net9"], &["net9"]] {
        plug.select("taken", &at(interfaces));
    }
    plug.await_status("taken", &["net1", "net9"]);
    ["net7", "net8"].iter().for_each(|interface| await_gone(scene, "taken", interface));
    plug.select("taken", &at(&[]));
    plug.await_status("taken", &["net1"]);
    await_gone(scene, "taken", "net9");
}

fn twenty_interfaces(plug: &HotPlug) {
    let scene = &plug.scene;
    let names: Vec<String> = (10..30).map(|number| format!("net{number}")).collect();
    let base = element("plugfail-a", "net1");
    let all: Vec<Value> =
        std::iter::once(base.clone()).chain(names.iter().map(|name| element("plugfail-b", name))).collect();
    let present: Vec<&str> = std::iter::once("net1").chain(names.iter().map(String::as_str)).collect();
    let begun = Instant::now();
    plug.select("taken", &all);
    plug.await_status("taken", &present);
    let plugged = begun.elapsed();
    assert_eq!(ports("OVS", "plugfail-b"), 20);
    let begun = Instant::now();
    plug.select("taken", &[base]);
    plug.await_status("taken", &["net1"]);
    println!(
        "20 interfaces: plugged after {:.1} s, unplugged after {:.1} s",
        plugged.as_secs_f64(),
        begun.elapsed().as_secs_f64()
    );
    assert_eq!(ports("OVS", "plugfail-b"), 0);
    names.iter().for_each(|name| assert_eq!(remains(&uid(scene, "taken"), name), ""));
}

#[test]
fn a_daemon_whose_mounts_the_engine_does_not_see_is_told_which_setting_it_lacks() {
    let Some(plug) = HotPlug::with("plugapart", Propagation::HostToContainer) else { return };
    plug.scene.network("plugapart", &json!({}));
    start(&plug.scene, &sleeper(&plug.scene, "pod", &[]));
    plug.select("pod", &[element("plugapart", "net7")]);
    plug.await_refusal("pod", "net7", &["mountPropagation: Bidirectional"]);
    assert_eq!(remains(&uid(&plug.scene, "pod"), "net7"), "");
    assert_eq!(ports("OVS", "plugapart"), 0);
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
fn interfaces_that_nothing_detaches_are_collected() {
    let Some(plug) = HotPlug::new("plugend") else { return };
    let scene = &plug.scene;
    scene.network("plugend", &json!({}));
    start(scene, &sleeper(scene, "ends", &[]));
    plug.select("ends", &[element("plugend", "net7")]);
    plug.await_status("ends", &["net7"]);
    let uid = uid(scene, "ends");
    scene.delete_pod("ends");
    assert!(left_of(&uid).contains(".net7.json"), "neither Multus nor its controller detaches: {}", left_of(&uid));
    let begun = Instant::now();
    let _collector = super::super::garbage::QuickCollector::start();
    eventually("the interface is collected", || check(left_of(&uid).is_empty(), left_of(&uid)));
    println!(
        "an interface that nothing detached was collected {:.1} s after its pod, with a grace period of 1 s",
        begun.elapsed().as_secs_f64()
    );

    ends_while_it_is_attached(&plug, scene);
}

/// The network comes to the node while ADD waits for it, and the pod ends meanwhile.
fn ends_while_it_is_attached(plug: &HotPlug, scene: &Scene) {
    let elsewhere = |node: &str| json!({"nodeSelector": {"matchLabels": {"kubernetes.io/hostname": node}}});
    scene.network("plugend-late", &elsewhere("node-b"));
    start(scene, &sleeper(scene, "ending", &[]));
    wait_running(scene, "ending");
    let uid = uid(scene, "ending");
    plug.select("ending", &[element("plugend-late", "net7")]);
    daemon::await_log(&["ADD starting delegate request", "net7", "K8S_POD_NAME=ending"]);
    kubectl(&["delete", "pod", "ending", "-n", &scene.name, "--grace-period=1", "--wait=false"]);
    scene.apply_network("plugend-late", &elsewhere(NODE));
    wait_ready("plugend-late");
    daemon::await_log(&["ADD finished Delegate request", "net7"]);
    eventually("the pod is gone", || check(get(&["pod", "ending", "-n", &scene.name]).is_none(), "still there"));
    eventually("nothing is left of the pod", || check(left_of(&uid).is_empty(), left_of(&uid)));
    assert_eq!(ports("OVS", "plugend-late"), 0);
}
