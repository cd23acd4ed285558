//! Attacks on devices of nodes, their classes and claims to them.

use super::attack::Attack;
use crate::resource_claims;
use crate::support::cluster::{apply, try_run};
use crate::support::control_plane::tokens::RequestClient::{self, Agent, AgentWithoutNode, Controller};
use serde_json::{Value, json};

/// Devices of a node.
fn resource_slice(node: &str, driver: &str) -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "guards"},
        "spec": {"driver": driver, "nodeName": node, "devices": [],
                 "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}},
    })
}

/// A class of devices of a driver.
fn device_class(name: &str, network: &str, driver: &str) -> Value {
    let expression = format!("device.driver == \"{driver}\" && true");
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
        "metadata": {"name": name, "labels": {"usnet.dev/network": network}},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    })
}

/// The devices that the claim `guards` has.
const ALLOCATED: [(&str, &str); 2] = [("usnet.dev", "node-b"), ("gpu.example", "node-a")];

/// Creates a claim to which devices are allocated, as a scheduler would.
pub(crate) fn allocate_claim() {
    let results =
        ALLOCATED.map(|(driver, pool)| json!({"request": "port", "driver": driver, "pool": pool, "device": "x"}));
    let mut claim = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "guards", "namespace": "guards"},
        "spec": {"devices": {"requests": [{"name": "port", "exactly": {
            "deviceClassName": "usnet", "allocationMode": "ExactCount", "count": results.len(),
        }}]}},
    });
    apply(&claim);
    claim["status"] = json!({"allocation": {"devices": {"results": results}}});
    let write = ["apply", "--server-side", "--subresource=status", "-f", "-"];
    try_run("kubectl", &write, &claim.to_string()).unwrap();
}

/// A part of that claim's status.
fn claim_status(thief: RequestClient, status: &Value) -> Attack {
    Attack::apply(
        thief,
        "status",
        &json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "guards", "namespace": "guards"},
            "status": status,
        }),
    )
}

pub(crate) fn resource_claim_attacks() -> Vec<Attack> {
    if !resource_claims::is_supported() {
        return Vec::new();
    }
    let devices = ALLOCATED.map(|(driver, pool)| {
        let device = json!({"driver": driver, "pool": pool, "device": "x", "networkData": {"interfaceName": "forged"}});
        claim_status(Agent("node-a"), &json!({"devices": [device]})).role().policy()
    });
    let reserved = json!({"reservedFor": [{"resource": "pods", "name": "own", "uid": "0"}]});
    let mut attacks = vec![
        claim_status(Agent("node-a"), &reserved).role().policy(),
        Attack::apply(Agent("node-a"), "", &resource_slice("node-b", "usnet.dev")).policy(),
        Attack::apply(Agent("node-a"), "", &resource_slice("node-a", "gpu.example")).policy(),
        Attack::apply(AgentWithoutNode, "", &resource_slice("node-a", "usnet.dev")).policy(),
        Attack::list(Agent("node-a"), "resourceclaims").role(),
        Attack::apply(Agent("node-a"), "", &device_class("usnet-made", "made", "usnet.dev")).role(),
        Attack::apply(Controller, "", &resource_slice("node-a", "usnet.dev")).role(),
        Attack::apply(Controller, "", &device_class("gpu", "made", "usnet.dev")).policy(),
        Attack::apply(Controller, "", &device_class("usnet-made", "made", "gpu.example")).policy(),
        Attack::delete(Controller, ("deviceclass", "", "usnet")).policy(),
    ];
    attacks.extend(devices);
    attacks
}
