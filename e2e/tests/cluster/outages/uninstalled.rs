//! Pods keep their networks while parts of usnet, its objects, or all of it are removed.

use crate::support::cluster::{NODES, apply, check, eventually, get, kubectl, timeout, try_run, vsctl};
use crate::support::pods::{NODE, await_packets, received, start, testpmd_pod, wait_running};
use crate::support::scene::{Scene, await_condition, remains, wait_ready};
use serde_json::json;

/// A network with two pods that send to each other.
pub(crate) fn busy_scene(name: &str) -> Scene {
    let scene = Scene::new(name);
    scene.network(name, &json!({}));
    for pod in ["left", "right"] {
        start(&scene, &testpmd_pod(&scene, pod, name, "flowgen"));
    }
    await_packets(&scene, "right", 1);
    scene
}

/// Waits until the receiver has counted more packets than it has now.
pub(crate) fn assert_traffic(scene: &Scene) {
    let before = await_packets(scene, "right", 1);
    eventually("more packets", || {
        let now = received(scene, "right");
        check(now > before, format!("{before:?} {now:?}"))
    });
}

/// Waits until the node says that it keeps a network that is no more for this pod.
fn await_kept_by_node(network: &str, pod: &str) {
    eventually("the node says who keeps the bridge", || {
        let state = get(&["usns", NODE]).ok_or("no state")?;
        let reports = state["status"]["networks"].as_array().cloned().unwrap_or_default();
        let report = reports.into_iter().find(|report| report["name"] == network).unwrap_or_default();
        let is_kept = report["state"] == "Draining" && report["reason"] == "InUse";
        check(is_kept && report["pods"].to_string().contains(pod), report.to_string())
    });
}

fn await_nothing(network: &str) {
    eventually("the bridge goes with the last pod", || {
        let left = remains(network);
        check(left.is_empty(), left.join(", "))
    });
}

/// The folder that the test bed applied.
pub(crate) fn installation() -> String {
    format!("{}/install", std::env::var("USNET_WORLD").unwrap())
}

/// Installs usnet as a person does who waits for what is still going: what is applied to a CRD that
/// goes is lost with it.
#[track_caller]
pub(crate) fn install() {
    eventually("usnet is installed and its CRDs serve", || {
        try_run("kubectl", &["apply", "-k", &installation()], "")?;
        try_run("kubectl", &["get", "usn,ucn,usns"], "")?;
        for crd in ["userspacenetworks.usnet.dev", "compilednetworks.usnet.dev", "userspacenodestates.usnet.dev"] {
            let object = get(&["crd", crd]).unwrap_or_default();
            check(object["metadata"]["deletionTimestamp"].is_null(), format!("{crd} is still being deleted"))?;
        }
        Ok(())
    });
    for workload in ["deployment/usnet-controller", "daemonset/usnet-agent"] {
        kubectl(&["rollout", "status", "-n", "usnet-system", timeout(), workload]);
    }
}

/// Installs usnet again, also when the test fails.
pub(crate) struct Installed;

impl Drop for Installed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _failed = try_run("kubectl", &["apply", "-k", &installation()], "");
        }
    }
}

#[test]
fn a_network_is_deleted_by_force_and_its_pods_keep_their_ports() {
    let scene = busy_scene("force");
    kubectl(&["delete", "usn", "force", "--wait=false"]);
    kubectl(&["annotate", "usn", "force", "usnet.dev/force-delete=yes"]);
    eventually("the wrong value is told", || {
        let message = await_condition("force", "DeletionBlocked", "True", "InUse");
        check(message.contains("usnet.dev/force-delete"), message)
    });
    kubectl(&["annotate", "usn", "force", "usnet.dev/force-delete=force", "--overwrite"]);
    eventually("the network goes", || check(get(&["usn", "force"]).is_none(), "still there"));
    await_kept_by_node("force", "force/right");
    assert_traffic(&scene);
    scene.delete_pods(["left", "right"]);
    await_nothing("force");
}

#[test]
fn a_deleted_namespace_takes_its_own_pods_and_no_others() {
    let scene = busy_scene("stays");
    let other = Scene::new("goes");
    kubectl(&["label", "namespace", "goes", "scene=stays", "--overwrite"]);
    start(&other, &testpmd_pod(&other, "third", "stays", "flowgen"));
    assert_eq!(vsctl(NODE, &["list-ports", "br-stays"]).lines().count(), 3);
    kubectl(&["delete", "namespace", "goes", timeout()]);
    eventually("the port of its pod is gone", || {
        let ports = vsctl(NODE, &["list-ports", "br-stays"]);
        check(ports.lines().count() == 2, ports)
    });
    wait_ready("stays");
    assert_traffic(&scene);
}

#[test]
fn node_states_that_vanish_with_their_crd_change_nothing_on_nodes() {
    let scene = busy_scene("stateless");
    let _restore = Installed;
    let bridges = || NODES.map(|node| vsctl(node, &["get", "Bridge", "br-stateless", "_uuid"]));
    let before = bridges();
    kubectl(&["delete", "crd", "userspacenodestates.usnet.dev", timeout()]);
    assert_traffic(&scene);
    assert_eq!(bridges(), before);
    install();
    eventually("the nodes answer again", || {
        let summary = get(&["usn", "stateless"]).unwrap()["status"]["nodes"]["summary"].clone();
        check(get(&["usns", NODE]).is_some() && summary == "2/2", summary.to_string())
    });
    wait_ready("stateless");
    assert_eq!(bridges(), before);
    assert_traffic(&scene);
}

#[test]
fn removed_controllers_and_agents_keep_traffic_and_resume_after_a_reinstallation() {
    let scene = busy_scene("orphans");
    let _restore = Installed;
    kubectl(&["delete", "-n", "usnet-system", "deployment,daemonset", "-l", "app.kubernetes.io/name=usnet"]);
    eventually("controllers and agents are gone", || {
        let pods = kubectl(&["get", "pods", "-n", "usnet-system", "-o", "name", "--ignore-not-found"]);
        check(pods.is_empty(), pods)
    });
    assert_traffic(&scene);
    // Without any of them a pod can still go.
    scene.delete_pod("left");
    assert_eq!(vsctl(NODE, &["list-ports", "br-orphans"]).lines().count(), 1);

    install();
    wait_ready("orphans");
    apply(&testpmd_pod(&scene, "left", "orphans", "flowgen"));
    wait_running(&scene, "left");
    assert_traffic(&scene);
}

/// Allows the deletion of a CRD whose objects exist.
pub(crate) fn allow_deletion(crd: &str) {
    kubectl(&["annotate", "crd", crd, "--overwrite", &format!("usnet.dev/force-delete={crd}")]);
}

/// Deletes what was applied, and waits until nothing of usnet runs. What kubectl printed.
pub(crate) fn uninstall() -> Result<String, String> {
    // With its namespace going, Kubernetes may be faster than `kubectl`.
    let answer = try_run("kubectl", &["delete", "-k", &installation(), "--wait=false", "--ignore-not-found"], "");
    eventually("controllers and agents are gone", || {
        let pods = kubectl(&["get", "pods", "-n", "usnet-system", "-o", "name", "--ignore-not-found"]);
        check(pods.is_empty(), pods)
    });
    answer
}

#[test]
fn usnet_removed_before_its_networks_keeps_their_crds_and_resumes_after_a_reinstallation() {
    let scene = busy_scene("kept-crds");
    let _restore = Installed;
    let bridges = || NODES.map(|node| vsctl(node, &["get", "Bridge", "br-kept-crds", "_uuid"]));
    let before = bridges();
    let words = uninstall().expect_err("networks exist");
    let refused = "exists, and would be deleted with the CRD: delete networks first";
    assert!(words.contains(refused) && words.contains("usnet.dev/force-delete="), "{words}");
    let object = get(&["usn", "kept-crds"]).unwrap();
    assert!(object["metadata"]["deletionTimestamp"].is_null(), "{object}");
    assert_traffic(&scene);
    install();
    wait_ready("kept-crds");
    assert_eq!(bridges(), before);
    assert_traffic(&scene);
}

#[test]
#[ignore = "long: make nightly"]
fn usnet_removed_with_its_crds_keeps_traffic_and_cleans_up_after_a_reinstallation() {
    let scene = busy_scene("removed");
    let _restore = Installed;
    // The wrong order on purpose: networks should go first, so that their pods are asked for.
    ["userspacenetworks", "userspaceuplinks", "userspaceattachments", "userspacereservations"]
        .into_iter()
        .for_each(|plural| allow_deletion(&format!("{plural}.usnet.dev")));
    uninstall().unwrap();
    assert_traffic(&scene);

    install();
    // Its deletion is older than this installation, so that it does not wait for its pods, nor its
    // CRD, which is there again.
    check(get(&["usn", "removed"]).is_none(), "still there").unwrap();
    await_kept_by_node("removed", "removed/right");
    assert_traffic(&scene);
    scene.delete_pods(["left", "right"]);
    await_nothing("removed");

    install();
    scene.network("removed", &json!({}));
    apply(&testpmd_pod(&scene, "left", "removed", "flowgen"));
    wait_running(&scene, "left");
}
