//! Attachments that fail have a reason with the cause, and nothing is left of them.

use super::{INTERFACE, assert_nothing_left, attachment, await_ready, await_reason, plug, plugged, status, unplug};
use crate::support::cluster::{apply, check, eventually, get, kubectl, on_node};
use crate::support::pods::{NODE, in_pod, pod_without_volume, sleeping_pod, start};
use crate::support::scene::{Scene, agent_pod};
use serde_json::{Value, json};
use std::time::Instant;

fn attachments(scene: &Scene, items: &[(&str, &str, &str, &str)]) -> Vec<Value> {
    items.iter().map(|(name, pod, network, interface)| attachment(scene, name, pod, network, interface)).collect()
}

fn apply_all(items: &[Value]) {
    apply(&json!({"apiVersion": "v1", "kind": "List", "items": items}));
}

#[track_caller]
fn await_gone(scene: &Scene, name: &str) {
    eventually(&format!("attachment {name} is gone"), || {
        check(get(&["usna", name, "-n", &scene.name]).is_none(), "it is there")
    });
}

#[test]
fn an_interface_that_cannot_be_attached_has_a_reason_and_leaves_nothing() {
    let scene = Scene::new("plugbad");
    let other = Scene::new("plugother");
    scene.network("plugbad", &json!({}));
    other.network("plugother", &json!({}));
    start(&scene, &sleeping_pod(&scene, "web", "plugbad"));
    let mut on_host = pod_without_volume(&scene, "host", "");
    on_host["spec"]["hostNetwork"] = json!(true);
    start(&scene, &on_host);
    start(&scene, &pod_without_volume(&scene, "plain", ""));
    let items = [
        ("taken", "web", "plugbad", "net1"),
        ("first", "web", "plugbad", INTERFACE),
        ("second", "web", "plugbad", INTERFACE),
        ("forbidden", "web", "plugother", "net3"),
        ("unknown", "web", "plugnowhere", "net4"),
        ("nopod", "late", "plugbad", "net5"),
        ("hostnet", "host", "plugbad", "net6"),
        ("nosandbox", "plain", "plugbad", "net6"),
    ];
    apply_all(&attachments(&scene, &items));
    // A tenant can name pods of no other namespace.
    apply_all(&attachments(&other, &[("thief", "web", "plugother", "net9")]));
    for (name, reason, word) in [
        ("taken", "InterfaceTaken", "net1"),
        ("forbidden", "AttachFailed", "plugbad"),
        ("unknown", "NetworkUnknown", "plugnowhere"),
        ("nopod", "PodNotFound", "plugbad/late"),
        ("hostnet", "HostNetwork", "plugbad/host"),
        ("nosandbox", "NoSandbox", "hot-plug.md"),
    ] {
        let message = await_reason(&scene, name, reason);
        assert!(message.contains(word), "{name}: {message}");
        println!("{name}: {reason}: {message}");
    }
    assert!(await_reason(&other, "thief", "PodNotFound").contains("plugother/web"));
    one_of_two_has_the_interface_and_the_other_one_after_it(&scene);
    // A pod that comes late.
    let mut late = sleeping_pod(&scene, "late", "plugbad");
    late["metadata"]["annotations"] = json!({"k8s.v1.cni.cncf.io/networks": "plugbad"});
    start(&scene, &late);
    await_ready(&scene, &["nopod"]);

    kubectl(&["delete", "usna", "--all", "-n", &scene.name, crate::support::cluster::timeout()]);
    kubectl(&["delete", "usna", "--all", "-n", &other.name, crate::support::cluster::timeout()]);
    assert_nothing_left(&scene);
    assert_nothing_left(&other);
    assert_eq!(in_pod(&scene, "web", "ls /run/usnet"), "net1.json\n");
}

fn one_of_two_has_the_interface_and_the_other_one_after_it(scene: &Scene) {
    let is_ready = |name: &str| status(scene, name)["conditions"][0]["status"] == "True";
    let winner = eventually("one of both is ready", || {
        ["first", "second"].into_iter().find(|name| is_ready(name)).ok_or_else(|| status(scene, "first").to_string())
    });
    let loser = if winner == "first" { "second" } else { "first" };
    assert!(await_reason(scene, loser, "InterfaceTaken").contains(winner));
    unplug(scene, &[winner]);
    await_ready(scene, &[loser]);
}

#[test]
fn attachments_end_with_their_pod_and_outlive_the_agent() {
    let scene = Scene::new("plugpod");
    scene.network("plugpod", &json!({}));
    for pod in ["kept", "killed"] {
        start(&scene, &sleeping_pod(&scene, pod, "plugpod"));
    }
    plug(&scene, &["kept"], "plugpod");
    // The pod is deleted while its interfaces are being attached.
    let names: Vec<String> = (10..16).map(|number| format!("net{number}")).collect();
    let items: Vec<Value> = names.iter().map(|name| attachment(&scene, name, "killed", "plugpod", name)).collect();
    apply_all(&items);
    scene.delete_pod("killed");
    // One that came too late for the pod is waiting for another one, and nothing owns it.
    eventually("no attachment has an owner that is gone", || {
        let objects = get(&["usna", "-n", &scene.name]).unwrap()["items"].take();
        let left = objects.as_array().unwrap().iter().filter(|it| it["spec"]["pod"] == "killed");
        let left: Vec<_> = left.filter(|it| it["status"]["conditions"][0]["reason"] != "PodNotFound").collect();
        check(left.is_empty(), format!("{left:?}"))
    });
    kubectl(
        &[
            &["delete", "usna", "-n", &scene.name, "--ignore-not-found"][..],
            &names.iter().map(String::as_str).collect::<Vec<_>>(),
        ]
        .concat(),
    );
    eventually("what was attached to the pod is detached", || {
        check(plugged(&scene).lines().count() == 1, plugged(&scene))
    });

    // While no agent runs: kubelet of the node is told, so that it comes back by itself.
    kubectl(&["delete", "pod", &agent_pod(NODE), "-n", "usnet-system", "--grace-period=0", "--force", "--wait=false"]);
    assert_eq!(status(&scene, "kept")["conditions"][0]["status"], "True");
    unplug(&scene, &["kept"]);
    assert_nothing_left(&scene);

    plug(&scene, &["kept"], "plugpod");
    scene.delete_pod("kept");
    await_gone(&scene, "kept");
    assert_nothing_left(&scene);
}

#[test]
fn twenty_interfaces_are_plugged_into_one_pod() {
    let scene = Scene::new("plugmany");
    scene.network("plugmany", &json!({}));
    start(&scene, &sleeping_pod(&scene, "web", "plugmany"));
    let names: Vec<String> = (10..30).map(|number| format!("many{number}")).collect();
    let items: Vec<Value> = names.iter().map(|name| attachment(&scene, name, "web", "plugmany", name)).collect();
    let started = Instant::now();
    apply_all(&items);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    await_ready(&scene, &names);
    println!("20 interfaces on one pod are Ready after {:?}", started.elapsed());
    assert_eq!(in_pod(&scene, "web", "ls /run/usnet | grep -c ^many"), "20\n");
    println!("20 interfaces are unplugged after {:?}", unplug(&scene, &names));
    assert_nothing_left(&scene);
    assert_eq!(in_pod(&scene, "web", "ls /run/usnet"), "net1.json\n");
    let ports = on_node(NODE, &["ovs-vsctl", "list-ports", "br-plugmany"]);
    assert_eq!(ports.lines().count(), 1, "{ports}");
}

/// The file system of a device is mounted when kubelet allocates it, before the container starts.
#[test]
fn a_device_of_a_running_pod_gets_its_interface() {
    let scene = Scene::new("plugdevice");
    scene.network("plugdevice", &json!({"devicePlugin": {"devices": 4}}));
    scene.network("plugother-veth", &json!({"port": {"type": "Veth"}}));
    eventually("the node's resource", || {
        let node = get(&["node", NODE]).unwrap();
        check(node["status"]["allocatable"]["usnet.dev/plugdevice"] == "4", node["status"].to_string())
    });
    let mut pod = pod_without_volume(&scene, "web", "plugother-veth");
    pod["spec"]["containers"][0]["resources"]["limits"]["usnet.dev/plugdevice"] = json!("1");
    start(&scene, &pod);
    apply_all(&attachments(&scene, &[("web", "web", "plugdevice", INTERFACE)]));
    await_ready(&scene, &["web"]);
    let found = in_pod(&scene, "web", &format!("ls /run/usnet.dev/plugdevice-*/{INTERFACE}.json"));
    println!("a device that was plugged: {found}");
    // It has one device.
    apply_all(&attachments(&scene, &[("more", "web", "plugdevice", "net8")]));
    let message = await_reason(&scene, "more", "AttachFailed");
    println!("without a device left: {message}");
    assert!(message.contains("plugdevice"), "{message}");
    unplug(&scene, &["web", "more"]);
    // The container keeps the folder that it was started with, which is not the node's any more.
    apply_all(&attachments(&scene, &[("again", "web", "plugdevice", INTERFACE)]));
    let message = await_reason(&scene, "again", "AttachFailed");
    assert!(message.contains("cannot be attached again"), "{message}");
    unplug(&scene, &["again"]);
    assert_nothing_left(&scene);
}
