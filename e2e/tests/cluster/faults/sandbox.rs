//! Sandboxes that are removed without kubelet.

use super::fault::Recovery;
use crate::support::cluster::{check, condition, eventually, get, on_node};
use crate::support::pods::{NODE, uid};
use crate::support::scene::Scene;
use std::time::Instant;

/// The pods: each is the third one of its network, so that the others go on.
const PODS: [&str; 2] = ["faults-vhost-2", "faults-memif-2"];

/// Removes the sandboxes of two pods from containerd, and waits until both pods run in others.
pub(super) fn remove(scene: &Scene) -> Recovery {
    let before = PODS.map(|pod| sandbox(scene, pod));
    let removed = Instant::now();
    for sandbox in &before {
        // containerd removes the task of a sandbox that ended by itself; then there is none to
        // delete.
        let script = format!(
            "ctr -n k8s.io tasks kill -a -s SIGKILL {sandbox}; ctr -n k8s.io tasks delete -f {sandbox}; \
             ctr -n k8s.io containers delete {sandbox}; true"
        );
        on_node(NODE, &["sh", "-c", &script]);
    }
    for (pod, before) in PODS.iter().zip(&before) {
        eventually("the pod has another sandbox", || {
            check(sandbox(scene, pod) != *before, "it has the same")?;
            let object = get(&["pod", pod, "-n", &scene.name]).ok_or("the pod is gone")?;
            let is_ready = condition(&object, "Ready").is_some_and(|ready| ready["status"] == "True");
            check(is_ready, object["status"].to_string())
        });
    }
    Recovery { ready: Some(removed.elapsed()), ..Recovery::default() }
}

/// The newest sandbox of a pod.
fn sandbox(scene: &Scene, pod: &str) -> String {
    let filter =
        format!("labels.\"io.kubernetes.pod.uid\"=={},labels.\"io.cri-containerd.kind\"==sandbox", uid(scene, pod));
    let found = on_node(NODE, &["ctr", "-n", "k8s.io", "containers", "list", "-q", &filter]);
    found.lines().last().unwrap_or_default().to_owned()
}
