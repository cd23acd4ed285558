//! A network with resource claims from the creation of its class to its deletion, with pods on it.

use super::{
    await_device, await_nothing_left, claim_of, claiming_pod, devices_of, is_supported, network_on_node, template,
    with_resource,
};
use crate::support::cluster::{apply, check, eventually, get, kubectl, run, timeout, vsctl};
use crate::support::control_plane::tokens::RequestClient::Agent;
use crate::support::pods::{NODE, in_pod, start};
use crate::support::scene::{ENGINE_GONE, Scene};
use serde_json::{Value, json};

/// What kubelet says of the health of a pod's devices.
fn health(scene: &Scene, pod: &str) -> String {
    get(&["pod", pod, "-n", &scene.name]).unwrap()["status"]["containerStatuses"][0]["allocatedResourcesStatus"]
        .to_string()
}

#[test]
fn a_network_has_a_class_and_its_pods_see_its_health_and_its_end() {
    if !is_supported() {
        return;
    }
    let scene = Scene::new("claimlife");
    scene.network("claimlife", &network_on_node("OVS", 8));
    await_device(NODE, "claimlife");
    let class = eventually("the class of the network", || {
        get(&["deviceclass", "usnet-claimlife"]).ok_or_else(|| "none".to_owned())
    });
    template(&scene, "port", "claimlife", &Value::Null);
    only_the_container_that_lists_the_claim_gets_it(&scene);
    status_is_written_by_its_own_node_only(&scene);

    // Kubernetes before 1.36 keeps no extended resource in a class.
    let has_resource = class["spec"]["extendedResourceName"] == json!("usnet.dev/claimlife");
    if has_resource {
        start(&scene, &with_resource(&scene, "resource", "claimlife"));
        let folder = in_pod(&scene, "resource", "echo $USNET_DEVICES_CLAIMLIFE; ls $USNET_DEVICES_CLAIMLIFE");
        // Kubernetes numbers the request by the place of the resource among those of the container.
        assert!(folder.starts_with("/run/usnet.dev/claimlife/container-0-request-"), "{folder}");
        assert!(folder.ends_with("\nclaim1.json\n"), "{folder}");
        follow_health(&scene);
    } else {
        println!("left out: this Kubernetes has neither extended resources of classes nor health of devices");
    }

    // The claim is forced out of the API server; the pod runs on, and ends.
    let claim = claim_of(&scene, "claiming")["metadata"]["name"].as_str().unwrap().to_owned();
    kubectl(&["delete", "resourceclaim", &claim, "-n", &scene.name, "--wait=false"]);
    let no_finalizers = r#"{"metadata":{"finalizers":null}}"#;
    kubectl(&["patch", "resourceclaim", &claim, "-n", &scene.name, "--type=merge", "-p", no_finalizers]);

    drain(&scene);
    scene.delete_pods(["late", "claiming"]);
    kubectl(&["wait", "--for=delete", "usn/claimlife", timeout()]);
    await_nothing_left(NODE);
}

fn only_the_container_that_lists_the_claim_gets_it(scene: &Scene) {
    let mut pod = claiming_pod(scene, "claiming", "port");
    let mut other = pod["spec"]["containers"][0].clone();
    other["name"] = json!("other");
    other["resources"] = json!({"limits": {"cpu": "100m"}});
    pod["spec"]["containers"].as_array_mut().unwrap().push(other);
    start(scene, &pod);
    assert_eq!(in_pod(scene, "claiming", "ls $USNET_CLAIM_UPLINK_PORT"), "claim1.json\n");
    let seen = "ls -d /run/usnet.dev /var/run/kubernetes.io/dra-device-attributes 2>/dev/null; env | grep USNET; true";
    let of_other = kubectl(&["exec", "claiming", "-n", &scene.name, "-c", "other", "--", "busybox", "sh", "-c", seen]);
    assert_eq!(of_other, "", "the container that does not list the claim");
}

/// Pods of a network that is being deleted run on, and no new one is placed.
fn drain(scene: &Scene) {
    kubectl(&["delete", "usn", "claimlife", "--wait=false"]);
    eventually("the class is removed with its network", || {
        check(get(&["deviceclass", "usnet-claimlife"]).is_none(), "it exists")
    });
    eventually("the device is tainted, or gone", || {
        let found = devices_of(NODE, "claimlife");
        check(found.iter().all(|device| device["taints"].is_array()), format!("{found:?}"))
    });
    template(scene, "late", "claimlife", &json!({}));
    apply(&claiming_pod(scene, "late", "late"));
    scene.await_refusal("late", &["cannot allocate all claims"]);
    assert_eq!(in_pod(scene, "claiming", "ls $USNET_CLAIM_UPLINK_PORT"), "claim1.json\n");
}

/// The engine fails and is back: kubelet's status of a pod says so, and a pod that ends meanwhile
/// does not wait for it. Its port is removed afterwards.
fn follow_health(scene: &Scene) {
    run("component", &["stop", "ovsdb-server", NODE]);
    eventually("the pod's device is unhealthy", || {
        let health = health(scene, "claiming");
        check(health.contains("Unhealthy") && health.contains(ENGINE_GONE), health)
    });
    scene.delete_pod("resource");
    run("component", &["start", "ovsdb-server", NODE]);
    eventually("the pod's device is healthy", || {
        let health = health(scene, "claiming");
        check(!health.contains("Unhealthy") && health.contains("Healthy"), health)
    });
    eventually("the port of the pod that ended is removed", || {
        let ports = vsctl(NODE, &["list-ports", "br-claimlife"]);
        check(ports.lines().count() == 1, ports)
    });
}

/// The policy limits an agent to devices of its own node, as does Kubernetes 1.36.
fn status_is_written_by_its_own_node_only(scene: &Scene) {
    let claim = claim_of(scene, "claiming");
    let name = claim["metadata"]["name"].as_str().unwrap().to_owned();
    let mut forged = claim["status"]["allocation"]["devices"]["results"][0].clone();
    let identity = ["driver", "pool", "device", "shareID"];
    forged.as_object_mut().unwrap().retain(|key, _| identity.contains(&key.as_str()));
    forged["networkData"] = json!({"interfaceName": "forged"});
    let body = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": scene.name}, "status": {"devices": [forged]},
    });
    let arguments = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=thief",
        "--validate=false",
        "--subresource=status",
        "--dry-run=server",
        "-f",
        "-",
    ];
    let refused = Agent("node-b").kubectl(&arguments, &body.to_string()).unwrap_err();
    assert!(refused.contains("forbidden") || refused.contains("Forbidden"), "{refused}");
    Agent(NODE).kubectl(&arguments, &body.to_string()).unwrap();
}
