//! Requests with alternatives for the scheduler, and requests that a quota rejects.

use super::{
    METADATA, await_device, await_nothing_left, claim_of, claim_spec, claiming_pod, is_supported, network_on_node,
    parameters, template_of, with_resource,
};
use crate::support::cluster::{apply, check, eventually, get, try_run};
use crate::support::pods::{NODE, in_pod, start};
use crate::support::scene::Scene;
use serde_json::{Value, json};

#[test]
fn a_request_gets_its_alternative_with_the_parameters_of_that_one_and_quotas_refuse_claims() {
    if !is_supported() {
        return;
    }
    let scene = Scene::new("claimreq");
    scene.network("claimreq", &network_on_node("OVS", 4));
    await_device(NODE, "claimreq");
    template_of(&scene, "either", &either("claimreq"));
    start(&scene, &claiming_pod(&scene, "either", "either"));
    let allocated = claim_of(&scene, "either")["status"]["allocation"]["devices"]["results"][0]["request"].take();
    assert_eq!(allocated, "port/second");
    assert_eq!(in_pod(&scene, "either", "ls $USNET_CLAIM_UPLINK_PORT"), "net8.json\n");
    let metadata: Value = serde_json::from_str(&in_pod(&scene, "either", METADATA)).unwrap();
    assert_eq!(metadata["requests"][0]["name"], "port");

    quotas_refuse_claims(&scene);
    assert_eq!(in_pod(&scene, "either", "ls $USNET_CLAIM_UPLINK_PORT"), "net8.json\n", "a running pod keeps its port");

    scene.delete_pod("either");
    await_nothing_left(NODE);
}

fn quotas_refuse_claims(scene: &Scene) {
    let refusal = |class: &str| {
        let request = json!({"name": "port", "exactly": {"deviceClassName": class}});
        let observed = create(scene, &json!({"devices": {"requests": [request]}})).unwrap_err();
        let counted = format!("{class}.deviceclass.resource.k8s.io/devices");
        assert!(observed.contains("exceeded quota") && observed.contains(&counted), "{observed}");
    };
    quota(scene, &["usnet-claimreq"]);
    refusal("usnet-claimreq");
    create(scene, &claim_spec("claimreq", &json!({}))).expect("by the class of all networks");
    quota(scene, &["usnet", "usnet-claimreq"]);
    ["usnet", "usnet-claimreq"].into_iter().for_each(refusal);
    assert!(create(scene, &either("claimreq")).unwrap_err().contains("exceeded quota"));
    if get(&["deviceclass", "usnet-claimreq"]).unwrap()["spec"]["extendedResourceName"].is_string() {
        apply(&with_resource(scene, "resource", "claimreq"));
        scene.await_refusal("resource", &["exceeded quota", "usnet-claimreq.deviceclass.resource.k8s.io/devices"]);
    } else {
        println!("left out: this Kubernetes has no extended resources of classes");
    }
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

/// What the API server says to a claim, without creating it.
fn create(scene: &Scene, spec: &Value) -> Result<String, String> {
    let claim = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": "another", "namespace": scene.name}, "spec": spec,
    });
    try_run("kubectl", &["create", "--dry-run=server", "-f", "-"], &claim.to_string())
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
