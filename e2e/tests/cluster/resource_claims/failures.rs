//! Failures: nothing is left, and no pod stays permanently.

use super::{
    await_device, await_nothing_left, claim_spec, claiming_pod, devices_of, dpdk_pod, is_supported, network_on_node,
    template,
};
use crate::support::cluster::{apply, check, eventually, get, kubectl, on_node, run};
use crate::support::control_plane::tokens::RequestClient::Agent;
use crate::support::pods::{NODE, await_packets, in_pod, start, wait_running};
use crate::support::scene::{Scene, agent_pod};
use crate::support::testpmd::Driver;
use serde_json::{Value, json};

/// The agent of a node ends without notice, and is started again.
fn kill_agent(node: &str) {
    kubectl(&["delete", "pod", &agent_pod(node), "-n", "usnet-system", "--grace-period=0", "--force", "--wait=false"]);
}

#[test]
fn an_agent_that_is_killed_keeps_no_pod_from_starting_or_ending() {
    if !is_supported() {
        return;
    }
    let scene = Scene::new("claimkill");
    scene.network("claimkill", &network_on_node("OVS", 8));
    await_device(NODE, "claimkill");
    template(&scene, "port", "claimkill", &Value::Null);
    // Prepared, and its container does not start: there is no such image yet.
    let mut pod = claiming_pod(&scene, "between", "port");
    let image = pod["spec"]["containers"][0]["image"].take();
    pod["spec"]["containers"][0]["image"] = json!("none:e2e");
    apply(&pod);
    eventually("the claim is prepared", || {
        let found = on_node(NODE, &["sh", "-c", "ls /var/run/cdi"]);
        check(found.contains("usnet.dev-port_"), found)
    });
    kill_agent(NODE);
    kubectl(&["set", "image", "pod/between", "-n", &scene.name, &format!("main={}", image.as_str().unwrap())]);
    wait_running(&scene, "between");
    assert_eq!(in_pod(&scene, "between", "ls $USNET_CLAIM_UPLINK_PORT"), "claim1.json\n");

    // Before it is unprepared.
    kill_agent(NODE);
    kubectl(&["delete", "pod", "between", "-n", &scene.name, "--wait=false"]);
    eventually("the pod ends", || check(get(&["pod", "between", "-n", &scene.name]).is_none(), "it is there"));
    await_nothing_left(NODE);
}

#[test]
fn files_of_the_runtime_come_back_and_so_do_slices_after_a_restart_of_kubelet() {
    if !is_supported() {
        return;
    }
    let scene = Scene::new("claimfiles");
    scene.network("claimfiles", &network_on_node("OVS", 8));
    await_device(NODE, "claimfiles");
    template(&scene, "port", "claimfiles", &Value::Null);
    start(&scene, &dpdk_pod(&scene, "left", "port", "flowgen", Driver::VhostServer));
    start(&scene, &dpdk_pod(&scene, "right", "port", "rxonly", Driver::VhostServer));
    on_node(NODE, &["sh", "-c", "rm -f /var/run/cdi/*"]);
    eventually("the files are written again", || {
        let found = on_node(NODE, &["sh", "-c", "ls /var/run/cdi"]);
        check(found.lines().count() == 2, found)
    });
    // A container that restarts in its sandbox: kubelet prepares nothing then.
    let _killed = crate::support::cluster::try_run(
        "kubectl",
        &["exec", "right", "-n", &scene.name, "--", "busybox", "sh", "-c", "kill 1"],
        "",
    );
    eventually("the container is started again", || {
        let pod = get(&["pod", "right", "-n", &scene.name]).unwrap();
        let status = &pod["status"]["containerStatuses"][0];
        let is_again = status["restartCount"].as_i64() > Some(0) && status["ready"] == json!(true);
        check(is_again, format!("{status}\n{}", scene.events("right")))
    });
    await_packets(&scene, "right", 1);

    run("component", &["stop", "kubelet", NODE]);
    // Shared by two pods before either is prepared.
    let claim = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": "shared", "namespace": scene.name}, "spec": claim_spec("claimfiles", &Value::Null),
    });
    apply(&claim);
    for name in ["one", "two"] {
        let mut pod = claiming_pod(&scene, name, "");
        pod["spec"]["resourceClaims"] = json!([{"name": "uplink", "resourceClaimName": "shared"}]);
        apply(&pod);
    }
    eventually("the claim is reserved for both", || {
        let claim = get(&["resourceclaim", "shared", "-n", &scene.name]).unwrap();
        let pods = claim["status"]["reservedFor"].as_array().map_or(0, Vec::len);
        check(pods == 2, format!("{claim}"))
    });
    run("component", &["start", "kubelet", NODE]);
    scene.await_refusal("one", &["reserved for 2 pods", "ResourceClaimTemplate"]);
    await_device(NODE, "claimfiles");
    scene.delete_pods(["one", "two"]);
    start(&scene, &claiming_pod(&scene, "after", "port"));
    // A pod that ends at once is gone from the API server before kubelet has its claim unprepared.
    kubectl(&["delete", "pod", "after", "-n", &scene.name, "--grace-period=0", "--force", "--wait=false"]);
    scene.delete_pods(["left", "right"]);
    await_nothing_left(NODE);
}

#[test]
fn a_claim_that_may_not_be_prepared_has_a_reason_and_leaves_nothing() {
    if !is_supported() {
        return;
    }
    let scene = Scene::new("claimrefused");
    let other = Scene::new("claimother");
    scene.network("claimrefused", &network_on_node("OVS", 8));
    await_device(NODE, "claimrefused");
    template(&scene, "port", "claimrefused", &Value::Null);
    template(&scene, "unknown", "claimrefused", &json!({"colour": "red"}));
    template(&other, "port", "claimrefused", &Value::Null);
    apply(&claiming_pod(&scene, "unknown", "unknown"));
    apply(&claiming_pod(&other, "foreign", "port"));
    scene.await_refusal("unknown", &["colour", "PortRequest"]);
    other.await_refusal("foreign", &["namespace claimother may not use network claimrefused"]);
    scene.delete_pod("unknown");
    other.delete_pod("foreign");
    await_nothing_left(NODE);

    // An agent writes the slices of its own node only.
    let slice = |node: &str| {
        json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "stolen"},
            "spec": {"driver": "usnet.dev", "nodeName": node, "devices": [],
                     "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}},
        })
    };
    let arguments =
        ["apply", "--server-side", "--field-manager=thief", "--validate=false", "--dry-run=server", "-f", "-"];
    let attempt = |slice: Value| Agent("node-b").kubectl(&arguments, &slice.to_string());
    let refused = attempt(slice(NODE)).unwrap_err();
    assert!(refused.contains("ResourceSlices of its own node only"), "{refused}");
    let mut of_others = slice("node-b");
    of_others["spec"]["driver"] = json!("gpu.example.org");
    let refused = attempt(of_others).unwrap_err();
    assert!(refused.contains("of the driver usnet.dev only"), "{refused}");
    attempt(slice("node-b")).unwrap();
    let name = format!("{NODE}-usnet.dev-00");
    let delete = ["delete", "resourceslice", &name, "--wait=false", "--dry-run=server"];
    let refused = Agent("node-b").kubectl(&delete, "").unwrap_err();
    assert!(refused.contains("ResourceSlices of its own node only"), "{refused}");
    assert!(!devices_of(NODE, "claimrefused").is_empty());
}
