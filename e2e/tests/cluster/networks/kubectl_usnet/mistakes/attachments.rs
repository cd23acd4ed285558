//! Mistakes of UserspaceAttachments, which add an interface to a running pod.

use super::{HOLDER, Mistakes, NAME, VETH};
use crate::support::pods::pod_without_volume;
use crate::support::scene::Scene;
use serde_json::{Value, json};

/// The pods to which interfaces are to be added.
pub(super) fn running_pods(scene: &Scene) -> Vec<Value> {
    let mut host = pod_without_volume(scene, "onhost", "");
    host["spec"]["hostNetwork"] = json!(true);
    vec![host, pod_without_volume(scene, "bare", VETH), pod_without_volume(scene, "plain", "")]
}

pub(super) fn add(mistakes: &mut Mistakes<'_>) {
    for (what, pod, network, interface, expected) in [
        ("plug: a pod that does not exist", "none", VETH, "net7", ("PodNotFound", "correct spec.pod")),
        ("plug: a misspelt network", HOLDER, "ask-wrong-vet", "net8", ("NetworkUnknown", "correct spec.network")),
        ("plug: an interface that the pod has", HOLDER, VETH, "net1", ("InterfaceTaken", "another spec.interface")),
        ("plug: a pod with hostNetwork", "onhost", VETH, "net7", ("HostNetwork", "without hostNetwork")),
        ("plug: a pod without the volume", "bare", NAME, "net7", ("AttachFailed", "volumes: [{name: usnet")),
        ("plug: a pod without an interface of usnet", "plain", VETH, "net7", ("NoSandbox", "another interface")),
    ] {
        let object = json!({
            "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceAttachment",
            "metadata": {"name": format!("plug{}", mistakes.all.len() + 1), "namespace": NAME},
            "spec": {"pod": pod, "network": network, "interface": interface},
        });
        mistakes.add(("usna", what), object, expected);
    }
}
