//! Programs that do not reach their port, and how that is reported: a socket that a killed program
//! left, and mounts that do not allow a socket.

use crate::support::cluster::{check, eventually, get, kubectl, on_node};
use crate::support::kubectl_usnet::{CommandOutput, usnet};
use crate::support::pods::{NODE, sleeping_pod, start, testpmd_pod};
use crate::support::scene::Scene;
use serde_json::json;

/// Returns the argument by which the process of a pod is found.
fn prefix(pod: &str) -> String {
    format!("--file-prefix=unconnected-{pod}")
}

/// A DPDK program that listens, with this before its start.
fn listening(scene: &Scene, name: &str, before: &str) -> serde_json::Value {
    let mut pod = testpmd_pod(scene, name, "unconnected", "rxonly");
    let container = &mut pod["spec"]["containers"][0];
    let mut command = container["command"].as_array().unwrap().clone();
    command.insert(1, json!(prefix(name)));
    let start = ["sh", "-c", &format!("{before} exec \"$@\""), "sh"].map(|word| json!(word));
    container["command"] = start.into_iter().chain(command).collect();
    pod
}

fn explain(scene: &Scene, pod: &str) -> CommandOutput {
    usnet(&["explain", "pod", &format!("{}/{pod}", scene.name)])
}

fn kill(pod: &str) {
    let script = format!("kill -9 $(pgrep -f '^dpdk-testpmd.*{}' | head -1)", prefix(pod));
    on_node(NODE, &["sh", "-c", &script]);
}

fn await_connected(number: u64) {
    eventually(&format!("{number} programs are connected"), || {
        let status = get(&["usn", "unconnected"]).unwrap()["status"].take();
        check(status["connected"] == number, status.to_string())
    });
}

#[test]
fn a_stale_socket_is_named_and_a_removed_one_is_recreated() {
    let scene = Scene::new("unconnected");
    scene.network("unconnected", &json!({}));
    for pod in [listening(&scene, "leaves", ""), listening(&scene, "removes", "rm -f /run/usnet/net1.sock;")] {
        start(&scene, &pod);
    }
    await_connected(2);
    kill("leaves");
    await_connected(1);
    kill("removes");
    eventually("the container was started again", || {
        let status = get(&["pod", "removes", "-n", &scene.name]).unwrap()["status"].take();
        check(status["containerStatuses"][0]["restartCount"] == 1, status.to_string())
    });
    await_connected(1);
    let message = scene.await_event("leaves", "NotConnected");
    assert!(message.contains("net1.sock is there") && message.contains("rm -f"), "{message}");
    let explained = explain(&scene, "leaves");
    assert!(explained.status == 0 && explained.stdout.contains("Warning NotConnected"), "{explained:?}");
    assert!(explained.stdout.contains("net1.sock is there"), "{explained:?}");
    let explained = explain(&scene, "removes");
    assert_eq!(explained.status, 0, "{explained:?}");
}

#[test]
fn a_mount_through_which_no_socket_can_be_made_is_named() {
    let scene = Scene::new("mounts");
    scene.network("mounts", &json!({}));
    for (name, mount) in [("part", json!({"subPath": "data"})), ("read-only", json!({"readOnly": true}))] {
        let mut pod = sleeping_pod(&scene, name, "mounts");
        let mounts = &mut pod["spec"]["containers"][0]["volumeMounts"][0];
        mounts.as_object_mut().unwrap().extend(mount.as_object().unwrap().clone());
        start(&scene, &pod);
    }
    for (name, word) in [("part", "subPath"), ("read-only", "readOnly")] {
        let explained = explain(&scene, name);
        assert!(explained.status == 1 && explained.stdout.contains("MountUnusable of net1"), "{explained:?}");
        assert!(explained.stdout.contains(word), "{explained:?}");
    }
}

/// The kubelet of a node runs it from a file; the API server has a copy with another uid.
#[test]
fn a_static_pod_is_distinguished_from_its_mirror_pod() {
    let scene = Scene::new("static-pod");
    scene.network("static-pod", &json!({}));
    let mut pod = sleeping_pod(&scene, "static", "static-pod");
    pod["spec"].as_object_mut().unwrap().remove("nodeName");
    let folder = StaticPods::start();
    on_node(NODE, &["sh", "-c", &format!("cat >{}/static-pod.yaml <<'E'\n{pod}\nE\n", StaticPods::FOLDER)]);
    let name = format!("static-{NODE}");
    eventually("the copy of the pod", || {
        get(&["pod", &name, "-n", &scene.name]).map(drop).ok_or_else(|| "not there".to_owned())
    });
    eventually("its program counts as not connected", || {
        let explained = explain(&scene, &name);
        check(explained.stdout.contains("NotConnected"), explained.stdout)
    });
    let pods = usnet(&["pods", "static-pod"]);
    assert_eq!(pods.status, 0, "its port is there: {pods:?}");
    let pods = pods.stdout;
    let line = pods.lines().find(|line| line.contains(&name)).unwrap_or_default();
    assert!(line.contains("not connected"), "{pods}");
    drop(folder);
    eventually("the pod is gone", || check(get(&["pod", &name, "-n", &scene.name]).is_none(), "still there"));
}

/// A kubelet that runs static pods, while this lives.
struct StaticPods;

impl StaticPods {
    const FOLDER: &str = "/etc/kubernetes/static-pods-of-test";

    fn start() -> Self {
        let script = format!(
            "mkdir -p {0} && jq '.staticPodPath=\"{0}\"' /etc/kubernetes/kubelet.json >/run/kubelet.json.new && cat /run/kubelet.json.new >/etc/kubernetes/kubelet.json",
            Self::FOLDER
        );
        on_node(NODE, &["sh", "-c", &script]);
        restart_kubelet();
        Self
    }
}

impl Drop for StaticPods {
    /// The kubelet ends the pods of files that are gone.
    fn drop(&mut self) {
        on_node(NODE, &["sh", "-c", &format!("rm -f {}/*", Self::FOLDER)]);
    }
}

fn restart_kubelet() {
    for action in ["stop", "start"] {
        crate::support::cluster::run("component", &[action, "kubelet", NODE]);
    }
    kubectl(&["wait", "--for=condition=Ready", &format!("node/{NODE}"), crate::support::cluster::timeout()]);
}
