//! Interfaces that cannot be plugged are refused with a reason, and the others stay unchanged.

use super::daemon::Propagation;
use super::delegate::{Sandbox, configuration, delegate};
use super::{HotPlug, await_gone, element, plugged_pod, ports, remains};
use crate::support::cluster::{apply, check, eventually, get, kubectl};
use crate::support::pods::{NODE, description, in_pod, pod_without_volume, uid, wait_running};
use crate::support::scene::{Scene, wait_ready};
use serde_json::{Value, json};
use std::thread;
use std::time::Instant;

#[test]
fn an_interface_that_cannot_be_plugged_is_refused_and_the_others_stay() {
    let Some(mut plug) = HotPlug::new("plugfail") else { return };
    networks_and_pods(&plug.scene);
    names_that_are_taken(&plug);
    elements_without_an_interface(&plug);
    pods_without_volume_or_device(&plug);
    devices_of_pods(&plug);
    requests_at_the_same_time(&plug);
    twenty_interfaces(&plug);
    mounts_that_the_engine_does_not_see(&mut plug);
}

fn networks_and_pods(scene: &Scene) {
    ["plugfail-a", "plugfail-b"].iter().for_each(|network| scene.apply_network(network, &json!({})));
    scene.apply_network("plugdevice", &json!({"devicePlugin": {"devices": 2}}));
    ["plugfail-a", "plugfail-b", "plugdevice"].iter().for_each(|network| wait_ready(network));
    apply(&plugged_pod(scene, "taken", &[element("plugfail-a", "net1")]));
    apply(&plugged_pod(scene, "nameless", &[json!({"name": "plugfail-a"})]));
    apply(&plugged_pod(scene, "plain", &[]));
    apply(&pod_without_volume(scene, "homeless", ""));
    let mut pod = pod_without_volume(scene, "device", "");
    pod["spec"]["containers"][0]["resources"]["limits"]["usnet.dev/plugdevice"] = json!("1");
    pod["spec"].as_object_mut().unwrap().remove("nodeName");
    pod["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": NODE});
    apply(&pod);
    ["taken", "nameless", "plain", "homeless", "device"].iter().for_each(|pod| wait_running(scene, pod));
}

fn names_that_are_taken(plug: &HotPlug) {
    let scene = &plug.scene;
    let (first, second) = (element("plugfail-a", "net1"), element("plugfail-b", "net1"));
    let observed = || (description(scene, "taken", "net1"), remains(&uid(scene, "taken"), "net1"));
    let before = observed();
    assert!(before.1.contains("net1.json"), "{before:?}");

    let reason = "is already attached, with other parameters (network";
    plug.select("taken", &[first.clone(), second.clone()]);
    plug.await_refusal("taken", &second, &[reason]);
    plug.await_attempts("taken", "net1");
    assert_eq!(observed(), before, "the controller's DEL, which rolls back, is for another network");
    assert_eq!(ports("OVS", "plugfail-a"), 2, "of this pod and of another one");
    let history = kubectl(&["usnet", "history", "--network=plugfail-b", "--node", NODE]);
    assert!(history.contains(reason), "{history}");

    let of_kernel = element("plugfail-b", "eth0");
    plug.select("taken", &[first.clone(), of_kernel.clone()]);
    plug.await_refusal("taken", &of_kernel, &["interface name eth0 already exists"]);
    plug.select("taken", &[first]);
    plug.await_status("taken", &["net1"]);
    assert_eq!(ports("OVS", "plugfail-b"), 0);
}

/// Multus gave the interface a name when the pod started, and the controller does not know it.
fn elements_without_an_interface(plug: &HotPlug) {
    let nameless = json!({"name": "plugfail-a"});
    plug.select("nameless", &[nameless.clone(), element("plugfail-b", "net7")]);
    plug.await_refusal("nameless", &nameless, &["interface name is empty"]);
    plug.await_status("nameless", &["net1"]);
    let uid = uid(&plug.scene, "nameless");
    assert!(remains(&uid, "net1").contains("net1.json"), "it stays attached");
    assert_eq!(remains(&uid, "net7"), "");
}

fn pods_without_volume_or_device(plug: &HotPlug) {
    let cases = [("plugfail-a", "has no emptyDir volume"), ("plugdevice", "has neither an unused device")];
    for (network, reason) in cases {
        let refused = element(network, "net7");
        plug.select("homeless", std::slice::from_ref(&refused));
        plug.await_refusal("homeless", &refused, &[reason]);
        assert_eq!(remains(&uid(&plug.scene, "homeless"), "net7"), "");
    }
}

/// A device's folder is in the container from its start on; the file system there goes with the
/// interface.
fn devices_of_pods(plug: &HotPlug) {
    let scene = &plug.scene;
    let plugged = element("plugdevice", "net7");
    plug.select("device", std::slice::from_ref(&plugged));
    plug.await_status("device", &["net7"]);
    let described: Value =
        serde_json::from_str(&in_pod(scene, "device", "cat $USNET_DEVICES_PLUGDEVICE/net7.json")).unwrap();
    assert_eq!((&described["network"], &described["socket"]), (&json!("plugdevice"), &json!("net7.sock")));
    plug.select("device", &[]);
    plug.await_status("device", &[]);
    await_gone(scene, "device", "net7");

    plug.select("device", std::slice::from_ref(&plugged));
    plug.await_refusal("device", &plugged, &["an interface with a device cannot be attached again"]);
    assert_eq!(remains(&uid(scene, "device"), "net7"), "");
}

/// Two calls for one interface, and changes of the annotation before the last one is done.
fn requests_at_the_same_time(plug: &HotPlug) {
    let scene = &plug.scene;
    let pod = get(&["pod", "taken", "-n", &scene.name]).unwrap();
    let sandbox = Sandbox::of(&pod).unwrap();
    let (network, configuration) = (element("plugfail-b", "net6"), configuration(&scene.name, "plugfail-b"));
    let call = |command| delegate(command, &pod, &sandbox, (&network, &configuration));
    let add = || call("ADD");
    let results = thread::scope(|scope| [(); 2].map(|()| scope.spawn(add)).map(|call| call.join().unwrap()));
    assert!(results[0].is_ok() && results[0] == results[1], "{results:?}");
    assert_eq!(ports("OVS", "plugfail-b"), 1);
    call("DEL").unwrap();
    await_gone(scene, "taken", "net6");

    for interfaces in [&["net7"][..], &["net7", "net8"], &["net8", "net9"], &["net9"]] {
        select_beside_first(plug, interfaces);
    }
    await_earlier_changes(plug);
    plug.await_present("taken", "net9");
    // The controller compares with a status that may be older than its own last change. It then
    // does not know of an interface that is attached, and finds it again when it is selected.
    let all = ["net7", "net8", "net9"];
    select_beside_first(plug, &all);
    plug.await_status("taken", &["net1", "net7", "net8", "net9"]);
    assert_eq!(ports("OVS", "plugfail-b"), all.len());
    select_beside_first(plug, &[]);
    plug.await_status("taken", &["net1"]);
    all.iter().for_each(|interface| await_gone(scene, "taken", interface));
}

/// The controller handles one change after the other: once it has handled these, of another pod, it
/// has handled all before them and knows what came of them.
fn await_earlier_changes(plug: &HotPlug) {
    for interfaces in [&["net7"][..], &[]] {
        plug.select("plain", &interfaces.iter().map(|name| element("plugfail-a", name)).collect::<Vec<_>>());
        plug.await_status("plain", interfaces);
    }
}

/// Selects these interfaces for the pod `taken` beside the one that it has from its start on.
fn select_beside_first(plug: &HotPlug, interfaces: &[&str]) {
    let first = std::iter::once(element("plugfail-a", "net1"));
    let all: Vec<Value> = first.chain(interfaces.iter().map(|name| element("plugfail-b", name))).collect();
    plug.select("taken", &all);
}

fn twenty_interfaces(plug: &HotPlug) {
    let names: Vec<String> = (10..30).map(|number| format!("net{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let begun = Instant::now();
    select_beside_first(plug, &names);
    plug.await_status("taken", &[&["net1"], &names[..]].concat());
    let plugged = begun.elapsed().as_secs_f64();
    assert_eq!(ports("OVS", "plugfail-b"), 20);
    let begun = Instant::now();
    select_beside_first(plug, &[]);
    plug.await_status("taken", &["net1"]);
    println!("20 interfaces: plugged after {plugged:.1} s, unplugged after {:.1} s", begun.elapsed().as_secs_f64());
    // The status is Multus', and may be earlier than the end of the last DEL.
    eventually("no port is left", || check(ports("OVS", "plugfail-b") == 0, "one is"));
    assert_eq!(remains(&uid(&plug.scene, "taken"), "net[12]?"), "");
}

fn mounts_that_the_engine_does_not_see(plug: &mut HotPlug) {
    plug.restart_daemon(Propagation::HostToContainer);
    let refused = element("plugfail-b", "net7");
    plug.select("plain", std::slice::from_ref(&refused));
    plug.await_refusal("plain", &refused, &["mountPropagation: Bidirectional"]);
    assert_eq!(remains(&uid(&plug.scene, "plain"), "net7"), "");
    assert_eq!(ports("OVS", "plugfail-b"), 0);
}
