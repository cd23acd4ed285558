//! Policies, as their controller compiles them for the nodes, and what it says of
//! them.

use crate::support::cluster::{apply, check, eventually, get, kubectl};
use crate::support::scene::Scene;
use serde_json::{Value, json};

const NAME: &str = "compiled";

/// A policy of the namespace for the network.
fn policy(spec: &Value) -> Value {
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1beta1", "kind": "MultiNetworkPolicy",
        "metadata": {
            "name": "database", "namespace": NAME, "annotations": {"k8s.v1.cni.cncf.io/policy-for": NAME},
        },
        "spec": spec,
    })
}

fn compiled() -> Option<Value> {
    get(&["ucp", "compiled.database"]).map(|object| object["spec"].clone())
}

/// Waits until nodes get these rules for connections to the pods, and returns all that they get.
#[track_caller]
fn await_ingress(ingress: &Value) -> Value {
    eventually("the policy is compiled", || {
        let spec = compiled().ok_or("there is none")?;
        check(spec["ingress"] == *ingress, spec.to_string()).map(|()| spec)
    })
}

/// The messages of the events on the policy.
fn events() -> String {
    let all = get(&["events", "-n", NAME, "--field-selector", "reason=NotEnforced"]).unwrap_or_default();
    let of_policy =
        all["items"].as_array().into_iter().flatten().filter(|it| it["involvedObject"]["name"] == "database");
    of_policy.filter_map(|event| event["message"].as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_policy_is_compiled_while_it_is_there_and_says_what_is_not_enforced() {
    let scene = Scene::new(NAME);
    let port = json!({"type": "Veth", "antiSpoofing": "Address"});
    let ipam = json!({"type": "host-local", "subnet": "10.57.31.0/24"});
    scene.apply_network(NAME, &json!({"port": port, "ipam": ipam}));
    let block = json!({"ipBlock": {"cidr": "10.57.31.0/24", "except": ["10.57.31.128/25"]}});
    apply(&policy(&json!({
        "podSelector": {}, "ingress": [{"from": [block], "ports": [{"port": 5432}, {"port": "sql"}]}],
    })));
    let ports = json!([{"protocol": "TCP", "first": 5432, "last": 5432}]);
    let spec = await_ingress(&json!([{"peers": ["10.57.31.0/25"], "ports": ports}]));
    assert_eq!((&spec["networks"], &spec["namespace"], &spec["egress"]), (&json!([NAME]), &json!(NAME), &Value::Null));
    eventually("the event", || {
        let events = events();
        let is_said = events.contains(r#"names of ports are not supported, and "sql" allows nothing"#)
            && events.contains("network compiled has no policies");
        check(is_said, events)
    });

    let of_some = json!({"podSelector": {"matchLabels": {"app": "db"}}, "policyTypes": ["Ingress", "Egress"]});
    apply(&policy(&of_some));
    // Agents that know no labels close all pods, and the API server keeps the empty lists.
    let spec = await_ingress(&json!([]));
    assert_eq!((&spec["egress"], &spec["generation"]), (&json!([]), &json!(2)));
    let selected = &spec["selected"];
    assert_eq!((&selected["ingress"], &selected["egress"]), (&json!([]), &json!([])));
    assert_eq!(selected["selector"].as_str().map(str::len), Some(32), "{spec}");

    apply(&policy(&json!({"podSelector": {"matchLabels": {"app": "not a label"}}, "ingress": [{}]})));
    eventually("a policy whose selector cannot be read allows nothing", || {
        let (spec, events) = (compiled().unwrap_or_default(), events());
        let is_closed = spec["ingress"] == json!([]) && spec.get("selected").is_none();
        check(
            is_closed && events.contains("the policy restricts all pods of the namespace"),
            format!("{spec} {events}"),
        )
    });

    kubectl(&["delete", "multi-networkpolicies", "database", "-n", NAME]);
    eventually("the policy is deleted", || check(compiled().is_none(), "it is compiled still"));
}
