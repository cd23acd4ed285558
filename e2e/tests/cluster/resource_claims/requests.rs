//! Requests that leave a choice to the scheduler, and requests that a quota refuses.

use super::{METADATA, await_device, await_nothing_left, claim_of, here, is_served, parameters, sleeper};
use crate::support::cluster::{apply, check, eventually, get, try_apply};
use crate::support::pods::{NODE, in_pod, start};
use crate::support::scene::Scene;
use serde_json::{Value, json};

#[test]
fn a_request_gets_its_alternative_with_the_parameters_of_that_one_and_quotas_refuse_claims() {
    if !is_served() {
        return;
    }
    let scene = Scene::new("claimreq");
    scene.network("claimreq", &here("OVS", 4));
    await_device(NODE, "claimreq");
    apply(&json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
        "metadata": {"name": "either", "namespace": scene.name}, "spec": {"spec": either("claimreq")},
    }));
    start(&scene, &sleeper(&scene, "either", "either"));
    let allocated = claim_of(&scene, "either")["status"]["allocation"]["devices"]["results"][0]["request"].take();
    assert_eq!(allocated, "port/second");
    assert_eq!(in_pod(&scene, "either", "ls $USNET_CLAIM_UPLINK_PORT"), "net8.json\n");
    let metadata: Value = serde_json::from_str(&in_pod(&scene, "either", METADATA)).unwrap();
    assert_eq!(metadata["requests"][0]["name"], "port");

    quota(&scene, &["usnet", "usnet-claimreq"]);
    for class in ["usnet", "usnet-claimreq"] {
        let request = json!({"name": "port", "exactly": {"deviceClassName": class}});
        let observed = try_apply(&claim(&scene, &json!({"devices": {"requests": [request]}}))).unwrap_err();
        assert!(observed.contains("exceeded quota") && observed.contains(class), "{observed}");
    }
    assert!(try_apply(&claim(&scene, &either("claimreq"))).unwrap_err().contains("exceeded quota"));
    assert_eq!(in_pod(&scene, "either", "ls $USNET_CLAIM_UPLINK_PORT"), "net8.json\n", "a running pod keeps its port");

    scene.delete_pod("either");
    await_nothing_left(NODE);
}

/// A claim for a port of a network: with VPP, or else as it is, each with its own interface.
fn either(network: &str) -> Value {
    let expression = format!(
        "device.attributes['usnet.dev'].network == '{network}' && device.attributes['usnet.dev'].engine == 'VPP'"
    );
    let first =
        json!({"name": "first", "deviceClassName": "usnet", "selectors": [{"cel": {"expression": expression}}]});
    let second = json!({"name": "second", "deviceClassName": format!("usnet-{network}")});
    let config = [("port/first", "net7"), ("port/second", "net8")].map(|(request, interface)| {
        let mut config = parameters(&json!({"interface": interface}));
        config["requests"] = json!([request]);
        config
    });
    json!({"devices": {"requests": [{"name": "port", "firstAvailable": [first, second]}], "config": config}})
}

fn claim(scene: &Scene, spec: &Value) -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": "refused", "namespace": scene.name}, "spec": spec,
    })
}

/// Allows the namespace no device of these classes, as docs/resource-claims.md recommends.
fn quota(scene: &Scene, classes: &[&str]) {
    let hard: serde_json::Map<String, Value> =
        classes.iter().map(|class| (format!("{class}.deviceclass.resource.k8s.io/devices"), json!("0"))).collect();
    apply(&json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "no-ports", "namespace": scene.name},
        "spec": {"hard": hard},
    }));
    eventually("the quota is in effect", || {
        let quota = get(&["resourcequota", "no-ports", "-n", &scene.name]).unwrap();
        check(quota["status"]["hard"] == json!(hard), quota.to_string())
    });
}
