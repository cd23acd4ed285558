//! Mistakes of resource claims.

use super::{CLAIMED, Mistakes, NAME};
use crate::resource_claims::is_supported;
use crate::support::cluster::apply;
use crate::support::pods::pod_without_volume;
use serde_json::{Value, json};

/// A network whose ports can be claimed.
pub(super) const PORTS: &str = "ask-wrong-ports";

/// Applies a template of claims with this request, and returns the entry of a pod for it.
fn template(name: &str, exactly: &Value, config: &Value) -> Value {
    let devices = json!({"requests": [{"name": "port", "exactly": exactly}], "config": config});
    apply(&json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": NAME}, "spec": {"spec": {"devices": devices}},
    }));
    json!({"name": "uplink", "resourceClaimTemplateName": name})
}

fn of_class(name: &str, class: &str) -> Value {
    template(name, &json!({"deviceClassName": class}), &json!([]))
}

fn of_network(name: &str, network: &str) -> Value {
    let expression = format!("device.attributes['usnet.dev'].network == '{network}'");
    let exactly = json!({"deviceClassName": "usnet", "selectors": [{"cel": {"expression": expression}}]});
    template(name, &exactly, &json!([]))
}

pub(super) fn add(mistakes: &mut Mistakes<'_>) {
    if !is_supported() {
        return;
    }
    let misspelt = of_class("misspelt", "usnet-ask-wrong-clame");
    let refused = of_class("refused", &format!("usnet-{CLAIMED}"));
    let selector = of_network("selector", "ask-wrong-prots");
    let class = json!({"deviceClassName": format!("usnet-{PORTS}"), "count": 9});
    let many = template("many", &class, &json!([]));
    let parameters = json!({"apiVersion": "usnet.dev/v1alpha1", "kind": "PortRequest", "colour": "red"});
    let config = json!([{"opaque": {"driver": "usnet.dev", "parameters": parameters}}]);
    let strange = template("strange", &json!({"deviceClassName": format!("usnet-{PORTS}")}), &config);
    let no_template = json!({"name": "uplink", "resourceClaimTemplateName": "none"});
    let no_claim = json!({"name": "uplink", "resourceClaimName": "none"});
    for (what, claim, expected) in [
        ("a misspelt DeviceClass", misspelt, ("DeviceClassMissing", "deviceClassName: usnet-ask-wrong-claim")),
        ("a missing template", no_template, ("ClaimMissing", "kubectl get resourceclaimtemplates")),
        ("a missing claim", no_claim, ("ClaimMissing", "ResourceClaim")),
        ("a claim of a network for other namespaces", refused, ("NamespaceNotSelected", "kubectl label namespace")),
        ("a misspelt network in a selector", selector, ("UnknownNetwork", "write ask-wrong-ports in the selector")),
        ("more ports than a node has", many, ("NoFreePort", "raise spec.resourceClaims.ports")),
        ("a parameter that does not exist", strange, ("ClaimNotPrepared", "correct the claim")),
    ] {
        let mut pod = pod_without_volume(mistakes.scene, &format!("claim{}", mistakes.all.len() + 1), "");
        pod["metadata"].as_object_mut().unwrap().remove("annotations");
        pod["spec"].as_object_mut().unwrap().remove("nodeName");
        pod["spec"]["resourceClaims"] = json!([claim]);
        pod["spec"]["containers"][0]["resources"]["claims"] = json!([{"name": "uplink"}]);
        mistakes.pod(what, pod, expected);
    }
}
