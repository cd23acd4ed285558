//! Mistakes in the volumes, the containers and the node of a pod.

use super::{ELSEWHERE, FULL, Mistakes, NAME, VETH};
use crate::support::pods::pod_without_volume;
use serde_json::{Value, json};

/// The volume in which a pod shares its socket with the engine.
pub(super) fn volumes(mistakes: &mut Mistakes<'_>) {
    let add = ("NoVolume", "volumes: [{name: usnet, emptyDir: {}}]");
    let pod = pod_without_volume(mistakes.scene, "novolume", NAME);
    mistakes.pod("no volume", pod, add);
    let mut pod = mistakes.sleeping(NAME);
    pod["spec"]["volumes"][0]["name"] = json!("sockets");
    pod["spec"]["containers"][0]["volumeMounts"][0]["name"] = json!("sockets");
    mistakes.pod("a volume of another name", pod, add);
    let other = ("VolumeNotEmptyDir", "emptyDir: {}");
    for (what, volume) in [
        ("a folder of the node as volume", json!({"name": "usnet", "hostPath": {"path": "/tmp"}})),
        ("a ConfigMap as volume", json!({"name": "usnet", "configMap": {"name": "kube-root-ca.crt"}})),
    ] {
        let mut pod = mistakes.sleeping(NAME);
        pod["spec"]["volumes"] = json!([volume]);
        mistakes.pod(what, pod, other);
    }
    let mount = |mistakes: &mut Mistakes<'_>, fields: Value| {
        let mut pod = mistakes.sleeping(NAME);
        let mount = &mut pod["spec"]["containers"][0]["volumeMounts"][0];
        mount.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        pod
    };
    let unusable = ("MountUnusable", "mount the whole volume, writable");
    let pod = mount(mistakes, json!({"subPath": "data"}));
    mistakes.pod("a part of the volume mounted", pod, unusable);
    let pod = mount(mistakes, json!({"readOnly": true}));
    mistakes.pod("the volume mounted with readOnly", pod, unusable);
    let mut pod = mistakes.sleeping(NAME);
    let mut first = pod["spec"]["containers"][0].clone();
    (first["name"], first["command"]) = (json!("first"), json!(["busybox", "true"]));
    first.as_object_mut().unwrap().remove("stdin");
    pod["spec"]["initContainers"] = json!([first]);
    pod["spec"]["containers"][0]["volumeMounts"] = json!([]);
    mistakes.pod("the volume mounted in an init container alone", pod, unusable);
    let mut pod = mistakes.sleeping(NAME);
    pod["spec"]["containers"][0]["volumeMounts"] = json!([]);
    let unmounted = ("VolumeNotMounted", "add volumeMounts");
    mistakes.pod("the volume mounted nowhere", pod, unmounted).event("that a container mounts");
    let mut pod = mistakes.sleeping(VETH);
    pod["spec"]["volumes"] =
        json!([{"name": "usnet", "emptyDir": {}}, {"name": "config", "configMap": {"name": "none"}}]);
    pod["spec"]["containers"][0]["volumeMounts"] = json!([{"name": "config", "mountPath": "/config"}]);
    mistakes.pod("a ConfigMap that does not exist", pod, ("FailedMount", "kubectl describe pod"));
}

/// Containers that do not start, or end.
pub(super) fn containers(mistakes: &mut Mistakes<'_>) {
    for (what, fields, remedy) in [
        ("an image that does not exist", json!({"image": "none:e2e"}), "correct the image"),
        ("a program that ends", json!({"command": ["busybox", "false"]}), "kubectl logs"),
        ("a command that does not exist", json!({"command": ["/none"]}), "correct the command"),
        (
            "a Secret that does not exist",
            json!({"envFrom": [{"secretRef": {"name": "none"}}]}),
            "create the ConfigMap or Secret",
        ),
    ] {
        let mut pod = mistakes.sleeping(VETH);
        let container = pod["spec"]["containers"][0].as_object_mut().unwrap();
        container.extend(fields.as_object().unwrap().clone());
        mistakes.pod(what, pod, ("ProgramNotRunning", remedy));
    }
}

/// The node of the pod, or that there is none.
pub(super) fn places(mistakes: &mut Mistakes<'_>) {
    let expected = ("NodeNotSelected", "give the pod the same nodeSelector");
    mistakes.annotated("a network that is not on the node", ELSEWHERE, expected);
    mistakes.annotated("no address is left", FULL, ("AddressesExhausted", "extend the ranges"));
    let mut pod = mistakes.sleeping(VETH);
    pod["spec"]["hostNetwork"] = json!(true);
    mistakes.pod("hostNetwork", pod, ("HostNetwork", "remove hostNetwork"));
    for (what, limits, expected) in [
        ("a misspelt resource", json!({"usnet.dev/ask-wrong-vet": 1}), ("UnknownResource", "usnet.dev/ask-wrong-veth")),
        (
            "a resource of a network without devices",
            json!({"usnet.dev/ask-wrong-veth": 1}),
            ("NoDevices", "set spec.devicePlugin"),
        ),
        ("more CPUs than a node has", json!({"cpu": "900"}), ("NotScheduled", "change the pod's requirements")),
        (
            "hugepages that no node has",
            json!({"hugepages-2Mi": "64Mi", "memory": "64Mi", "cpu": "10m"}),
            ("NoHugepages", "reserve them on the nodes"),
        ),
    ] {
        let mut pod = mistakes.sleeping(VETH);
        pod["spec"].as_object_mut().unwrap().remove("nodeName");
        pod["spec"]["containers"][0]["resources"] = json!({"limits": limits});
        mistakes.pod(what, pod, expected);
    }
    let mut pod = mistakes.sleeping(VETH);
    pod["spec"].as_object_mut().unwrap().remove("nodeName");
    pod["spec"]["nodeSelector"] = json!({"rack": "none"});
    mistakes.pod("a nodeSelector for no node", pod, ("NotScheduled", "change the pod's requirements"));
}
