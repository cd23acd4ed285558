//! What the API server has after requests.

use super::object;
use super::server::Server;
use crate::events::queue;
use crate::metrics::Metrics;
use crate::plan::Operation;
use crate::run::Controller;
use crate::write::write;
use kube::runtime::watcher::Event;
use prometheus::Registry;
use serde_json::{Value, json};

const SELECTOR: &str = "00000000000000000000000000000001";

/// A slice with these pods.
fn pods(uids: &[&str]) -> Value {
    let pods: serde_json::Map<String, Value> = uids.iter().map(|uid| ((*uid).to_owned(), json!([]))).collect();
    let class = json!({"namespace": "db", "selectedBy": [0], "pods": pods});
    json!({"network": "blue", "selectors": [SELECTOR], "classes": [class]})
}

fn apply_pods(uids: &[&str]) -> Operation {
    Operation::ApplySlice("blue.0".to_owned(), serde_json::from_value(pods(uids)).unwrap())
}

/// A policy with these fields as well.
fn policy(fields: &Value) -> Value {
    let mut policy = json!({"networks": ["blue"], "namespace": "db", "name": "p", "generation": 1});
    policy.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    policy
}

fn apply_policy(fields: &Value) -> Operation {
    Operation::ApplyPolicy("db.p".to_owned(), serde_json::from_value(policy(fields)).unwrap())
}

#[tokio::test]
async fn what_is_not_stored_is_created() {
    let server = Server::start(None);
    write(&server.client(), &apply_pods(&["a"]), false).await.unwrap();
    write(&server.client(), &apply_policy(&json!({"ingress": []})), false).await.unwrap();
    assert_eq!(server.requests(), ["POST pods blue.0", "POST policy db.p"]);
    let slice = server.object("pods blue.0").unwrap();
    assert_eq!((&slice["kind"], &slice["spec"]), (&json!("UserspacePodSlice"), &pods(&["a"])));
    assert_eq!(slice["metadata"]["labels"], json!({"usnet.dev/network": "blue"}));
    assert_eq!(server.object("policy db.p").unwrap()["spec"], policy(&json!({"ingress": []})));
}

/// A pod that has left a slice would have its rights for good, and a policy would restrict what it
/// does not any more.
#[tokio::test]
async fn what_is_stored_is_replaced_and_nothing_of_before_stays() {
    let server = Server::start(None);
    write(&server.client(), &apply_pods(&["a", "b"]), false).await.unwrap();
    write(&server.client(), &apply_policy(&json!({"ingress": []})), false).await.unwrap();
    let with_label = |name: &str| {
        let mut object = server.object(name).unwrap();
        assert!(object["metadata"]["managedFields"].is_array());
        object["metadata"]["labels"] = json!({"of": "others"});
        server.put(name, object);
    };
    with_label("pods blue.0");
    with_label("policy db.p");
    write(&server.client(), &apply_pods(&["b"]), true).await.unwrap();
    write(&server.client(), &apply_policy(&json!({"egress": []})), true).await.unwrap();
    assert_eq!(server.requests().split_off(2), ["PATCH pods blue.0", "PATCH policy db.p"]);
    let (slice, policy_object) = (server.object("pods blue.0").unwrap(), server.object("policy db.p").unwrap());
    assert_eq!((&slice["spec"], &policy_object["spec"]), (&pods(&["b"]), &policy(&json!({"egress": []}))));
    assert_eq!(slice["metadata"]["labels"], json!({"usnet.dev/network": "blue"}), "agents watch by it");
    assert_eq!(policy_object["metadata"]["labels"], json!({"of": "others"}));
    assert_eq!(
        (&slice["metadata"]["managedFields"], &policy_object["metadata"]["managedFields"]),
        (&Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn what_has_come_meanwhile_is_replaced_and_what_has_gone_is_created() {
    let server = Server::start(None);
    write(&server.client(), &apply_pods(&["a"]), true).await.unwrap();
    write(&server.client(), &apply_pods(&["b"]), false).await.unwrap();
    let requests = ["PATCH pods blue.0", "POST pods blue.0", "POST pods blue.0", "PATCH pods blue.0"];
    assert_eq!(server.requests(), requests);
    assert_eq!(server.object("pods blue.0").unwrap()["spec"], pods(&["b"]));
}

#[tokio::test]
async fn a_refusal_is_not_followed_by_another_request() {
    for (code, is_stored, requests) in [(403, true, ["PATCH pods blue.0"]), (403, false, ["POST pods blue.0"])] {
        let server = Server::start(Some(("blue.0", code)));
        assert!(write(&server.client(), &apply_pods(&["a"]), is_stored).await.unwrap_err().is_answer());
        assert_eq!(server.requests(), requests);
    }
}

/// As one of an earlier layout.
#[tokio::test]
async fn a_stored_slice_that_cannot_be_read_is_replaced_or_deleted() {
    let mut observed = super::pods::labelled();
    for name in ["blue.0", "blue.1"] {
        let spec = json!({"network": "blue", "classes": [], "pods": []});
        observed.slice(Event::Apply(object(&json!({"metadata": {"name": name}, "spec": spec}))));
    }
    let server = Server::start(None);
    server.store(&observed);
    let (reports, _queue) = queue();
    let mut controller = Controller::new(server.client(), reports, Metrics::register(&Registry::new()).unwrap());
    controller.observed = observed;
    controller.reconcile().await.unwrap();
    assert_eq!(server.requests(), ["PATCH pods blue.0", "DELETE pods blue.1", "POST policy db.p"]);
    assert_eq!(server.object("pods blue.0").unwrap()["spec"]["network"], "blue");
}
