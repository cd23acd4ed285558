//! etcd that is restored from an older snapshot: resource versions decrease, and later changes are
//! lost. Controller and agents converge by themselves; Kubernetes' own programs are restarted, as
//! its documentation requires after a restore.

use crate::support::cluster::{
    NODES, check, eventually, eventually_within, get, kubectl, run, timeout, try_run, vsctl,
};
use crate::support::control_plane::controllers::{Controller, await_both};
use crate::support::pods::{NODE, sleeping_pod, start};
use crate::support::scene::{Scene, remains, wait_ready};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A network that vanished is kept by agents for a minute, and back-offs come before that.
const CONVERGED: Duration = Duration::from_secs(240);
/// In the order in which they start.
const CONTROL_PLANE: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/// Programs of Kubernetes that are stopped; they start when this is dropped, if a test fails too.
struct Stopped(&'static [&'static str]);

impl Stopped {
    /// Without its own controllers and kubelets: they go on from what etcd has.
    fn store() -> Self {
        Self::stop(&CONTROL_PLANE[..2])
    }

    fn all() -> Self {
        NODES.into_iter().for_each(|node| drop(run("component", &["stop", "kubelet", node])));
        Self::stop(&CONTROL_PLANE)
    }

    fn stop(programs: &'static [&'static str]) -> Self {
        let stopped = Self(programs);
        programs.iter().rev().for_each(|program| drop(run("component", &["stop", program])));
        stopped
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let start = |words: &[&str]| match try_run("component", &[&["start"], words].concat(), "") {
            Err(error) if !error.contains("running already") => eprintln!("{error}"),
            _ => (),
        };
        self.0.iter().for_each(|program| start(&[program]));
        NODES.into_iter().for_each(|node| start(&["kubelet", node]));
    }
}

/// The state of etcd before the restore.
struct Snapshot {
    store: PathBuf,
    copy: PathBuf,
}

impl Snapshot {
    fn take() -> Self {
        let testbed = PathBuf::from(std::env::var("USNET_WORLD").unwrap());
        let snapshot = Self { store: testbed.join("etcd"), copy: testbed.join("etcd.snapshot") };
        let _stopped = Stopped::store();
        copy(&snapshot.store, &snapshot.copy);
        snapshot
    }

    fn restore(self) {
        let _stopped = Stopped::all();
        copy(&self.copy, &self.store);
    }
}

fn copy(from: &Path, to: &Path) {
    run("rm", &["-rf", &to.display().to_string()]);
    run("cp", &["-a", &from.display().to_string(), &to.display().to_string()]);
}

fn newest_version() -> u64 {
    let list: Value =
        serde_json::from_str(&kubectl(&["get", "--raw", "/apis/usnet.dev/v1alpha1/compilednetworks"])).unwrap();
    list["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

/// The bridge of the network that stays, and the port of its pod.
fn kept() -> Vec<String> {
    let bridges = NODES.map(|node| vsctl(node, &["get", "Bridge", "br-etcd-kept", "_uuid"]));
    let port = vsctl(NODE, &["list-ports", "br-etcd-kept"]);
    [bridges.as_slice(), &[vsctl(NODE, &["get", "Interface", &port, "_uuid", "ofport"])]].concat()
}

#[test]
fn a_restored_etcd_is_followed_without_manual_action() {
    let scene = Scene::new("restored");
    await_both();
    for network in ["etcd-kept", "etcd-gone"] {
        scene.network(network, &json!({}));
    }
    start(&scene, &sleeping_pod(&scene, "user", "etcd-kept"));
    let before = kept();
    let snapshot = Snapshot::take();

    scene.apply_network("etcd-kept", &json!({"bridge": {"mtu": 1400}}));
    scene.network("etcd-new", &json!({}));
    wait_ready("etcd-kept");
    kubectl(&["delete", "usn", "etcd-gone", timeout()]);
    eventually("the nodes have done it", || {
        let left = remains("etcd-gone");
        check(left.is_empty() && !remains("etcd-new").is_empty(), format!("{left:?}"))
    });
    let (controllers, version) = (Controller::all(), newest_version());
    snapshot.restore();
    let restored = newest_version();
    println!("versions went from {version} to {restored}");

    eventually_within(CONVERGED, "all is as the snapshot has it", || {
        check(get(&["usn", "etcd-new"]).is_none(), "the network is in the snapshot")?;
        let new = remains("etcd-new");
        check(new.is_empty(), format!("{new:?}"))?;
        for node in NODES {
            let mtu = try_run("on-node", &[node, "ovs-vsctl", "get", "Interface", "br-etcd-kept", "mtu_request"], "")?;
            check(mtu.trim() == "1500", format!("{node}: {mtu}"))?;
            try_run("on-node", &[node, "ovs-vsctl", "br-exists", "br-etcd-gone"], "")?;
        }
        let definition = |name: &str| get(&["net-attach-def", name, "-n", &scene.name]).is_some();
        check(definition("etcd-gone") && !definition("etcd-new"), "definitions")
    });
    for network in ["etcd-kept", "etcd-gone"] {
        wait_ready(network);
    }
    assert_eq!(kept(), before, "what the pod uses was made again");
    // No watcher is stuck at a version of the other history.
    scene.network("etcd-after", &json!({}));
    kubectl(&["delete", "usn", "etcd-gone", timeout()]);
    assert_eq!(Controller::all(), controllers, "a controller started again");
}
