//! One entry of `spec.attachments` for all pods of a StatefulSet: each has the address and the MAC
//! address of its ordinal.

use crate::support::cluster::{apply, check, eventually, get, kubectl, timeout, try_apply};
use crate::support::pods::{in_pod, sleeping_pod, wait_running};
use crate::support::scene::Scene;
use serde_json::{Value, json};

const NETWORK: &str = "row";

fn stateful_set(scene: &Scene, first: u32, replicas: u32) -> Value {
    let pod = sleeping_pod(scene, "template", NETWORK);
    let labels = json!({"app": "row"});
    let metadata = json!({"labels": labels, "annotations": pod["metadata"]["annotations"]});
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "row", "namespace": scene.name},
        "spec": {
            "serviceName": "row", "replicas": replicas, "ordinals": {"start": first}, "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels}, "template": {"metadata": metadata, "spec": pod["spec"]},
        },
    })
}

fn network(scene: &Scene, attachments: &Value) -> Value {
    scene.manifest(NETWORK, &json!({"port": {"type": "Veth"}, "attachments": attachments}))
}

#[test]
fn each_pod_of_a_stateful_set_has_the_addresses_of_its_ordinal() {
    let scene = Scene::new("row");
    let entry = |pods: &str, ip: &str| json!({"namespace": scene.name, "pod": pods, "ips": [ip, "fd00:61::1:0/64"], "mac": "02:61:00:00:00:fe"});
    let refused = try_apply(&network(&scene, &json!([entry("row-{999..0}", "10.61.0.250/16")]))).unwrap_err();
    assert!(refused.contains("spec.attachments[0].pod") && refused.contains("db-{0..99}"), "{refused}");
    let spec = json!({"port": {"type": "Veth"}, "attachments": [entry("row-{0..999}", "10.61.0.250/16")]});
    scene.network(NETWORK, &spec);

    apply(&stateful_set(&scene, 257, 2));
    for (pod, mac, ipv4, ipv6) in [
        ("row-257", "02:61:00:00:01:ff", "10.61.1.251/16", "fd00:61::1:101/64"),
        ("row-258", "02:61:00:00:02:00", "10.61.1.252/16", "fd00:61::1:102/64"),
    ] {
        eventually("the pod exists", || get(&["pod", pod, "-n", &scene.name]).ok_or_else(|| "no".to_owned()));
        wait_running(&scene, pod);
        let observed = in_pod(&scene, pod, "busybox ip addr show dev net1");
        for expected in [mac, ipv4, ipv6] {
            assert!(observed.contains(&format!(" {expected} ")), "{pod}: {expected}\n{observed}");
        }
    }
    in_pod(&scene, "row-257", "busybox ping -c 3 -W 5 10.61.1.252");

    // An address of a pod that does not exist yet is not for others.
    let other = json!([entry("row-{0..999}", "10.61.0.250/16"), {"namespace": scene.name, "pod": "thief", "ips": ["10.61.4.225/16"]}]);
    apply(&network(&scene, &other));
    eventually("the conflict is reported", || {
        let network = get(&["usn", NETWORK]).ok_or("no network")?;
        let conditions = network["status"]["conditions"].to_string();
        check(conditions.contains("spec.attachments[1].ips: address 10.61.4.225 occurs twice"), conditions)
    });
    kubectl(&["delete", "statefulset", "row", "-n", &scene.name, timeout()]);
}
