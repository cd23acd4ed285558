//! The volume in which a pod shares its socket with the engine.

use super::{check, cluster, explain};
use crate::model::testing::{add_network, attached, merge, network_object, pod_object};
use serde_json::{Value, json};

#[test]
fn no_volume() {
    let pod = pod_object(
        "app",
        &json!({"spec": {"volumes": []}, "metadata": {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "app", "uid": "s"}]}}),
    );
    check(&mut cluster(), &pod, "NoVolume", &["in StatefulSet app", "emptyDir: {}", "mountPath: /run/usnet"]);
}

#[test]
fn the_volume_that_the_network_names() {
    let mut snapshot = cluster();
    add_network(&mut snapshot, &network_object("blue", &json!({"port": {"volume": "hooks"}})));
    let missing = ["no emptyDir volume \"hooks\"", "volumes: [{name: hooks, emptyDir: {}}]"];
    check(&mut snapshot, &pod_object("app", &json!({})), "NoVolume", &missing);
    let hidden = json!({"spec": {"volumes": [{"name": "hooks", "emptyDir": {}}]}});
    check(&mut snapshot, &pod_object("app", &hidden), "VolumeNotMounted", &["volumeMounts: [{name: hooks,"]);
}

#[test]
fn volume_of_another_kind() {
    let pod = pod_object("app", &json!({"spec": {"volumes": [{"name": "usnet", "hostPath": {"path": "/x"}}]}}));
    check(&mut cluster(), &pod, "VolumeNotEmptyDir", &["is not an emptyDir"]);
}

#[test]
fn volume_without_a_mount() {
    let containers = json!({"spec": {"containers": [{"name": "app", "image": "app:1"}]}});
    check(&mut cluster(), &pod_object("app", &containers), "VolumeNotMounted", &["mountPath: /run/usnet"]);
    let mut veth = cluster();
    add_network(&mut veth, &network_object("blue", &json!({"port": {"type": "Veth"}})));
    let mut running = attached();
    merge(&mut running, &containers);
    assert_eq!(explain(&mut veth, &pod_object("app", &running)).findings, [], "a device needs no volume");
}

#[test]
fn mounts_that_do_not_allow_a_program_to_create_the_socket() {
    let mounted = |mounts: Value| {
        let containers = json!([{"name": "app", "image": "app:1", "volumeMounts": mounts}]);
        let mut pod = attached();
        merge(&mut pod, &json!({"spec": {"containers": containers}}));
        pod_object("app", &pod)
    };
    let mount = |rest: Value| {
        let mut mount = json!({"name": "usnet", "mountPath": "/run/usnet"});
        merge(&mut mount, &rest);
        mount
    };
    let whole = mount(json!({}));
    for (part, why) in [
        (json!({"subPath": "data"}), "container app mounts subPath \"data\" of volume \"usnet\""),
        (json!({"subPathExpr": "$(POD_NAME)"}), "subPath \"$(POD_NAME)\""),
        (json!({"readOnly": true}), "container app mounts volume \"usnet\" with readOnly"),
    ] {
        let pod = mounted(json!([mount(part.clone())]));
        check(&mut cluster(), &pod, "MountUnusable", &[why, "mount the whole volume"]);
        let beside = mounted(json!([mount(part), whole]));
        assert_eq!(explain(&mut cluster(), &beside).findings, [], "another mount can be used");
    }
    let mut server = cluster();
    let port = json!({"type": "VhostUser", "vhostUser": {"engineRole": "Server"}});
    add_network(&mut server, &network_object("blue", &json!({"engine": "VPP", "port": port})));
    let read_only = mounted(json!([mount(json!({"readOnly": true}))]));
    assert_eq!(explain(&mut server, &read_only).findings, [], "the program connects to a socket of VPP");
}

#[test]
fn a_volume_that_init_containers_alone_mount() {
    let with = |init: Value| {
        let container = json!({"name": "app", "image": "app:1"});
        let mut pod = attached();
        merge(&mut pod, &json!({"spec": {"containers": [container], "initContainers": [init]}}));
        pod_object("app", &pod)
    };
    let mounts = json!([{"name": "usnet", "mountPath": "/run/usnet"}]);
    let first = json!({"name": "first", "image": "app:1", "volumeMounts": mounts});
    let words = ["container first mounts volume \"usnet\", and it ends before", "container of the program"];
    check(&mut cluster(), &with(first.clone()), "MountUnusable", &words);
    let mut sidecar = first;
    sidecar["restartPolicy"] = json!("Always");
    assert_eq!(explain(&mut cluster(), &with(sidecar)).findings, [], "it runs beside the program");
}
