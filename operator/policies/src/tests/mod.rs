//! What is observed, compiled and written of whole clusters. Of pods in [`pods`], of their
//! addresses in [`slices`], of where they are in [`packing`], and what a [`server`] has after
//! requests in [`write`](mod@write).

mod packing;
mod pods;
mod scale;
mod server;
mod slices;
mod write;

use crate::compile::{Compilation, compile};
use crate::definitions::Definition;
use crate::events::queue;
use crate::metrics::Metrics;
use crate::observed::{
    CompiledObject, DefinitionObject, NamespaceObject, NetworkObject, NodeStateObject, Observed, PodObject,
    PolicyObject,
};
use crate::plan::{Operation, plan};
use crate::run::Controller;
use kube::runtime::watcher::Event;
use prometheus::Registry;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use server::Server;
use std::collections::BTreeMap;
use usnet_crds::multi_network_policy::spec::POLICY_FOR_ANNOTATION;
use usnet_crds::nad;

fn object<K: DeserializeOwned>(value: &Value) -> K {
    serde_json::from_str(&value.to_string()).unwrap()
}

fn named(name: &str) -> Value {
    let (namespace, name) = name.split_once('/').unwrap();
    json!({"namespace": namespace, "name": name, "uid": format!("uid-{name}"), "generation": 3})
}

fn policy(name: &str, policy_for: &str, spec: &Value) -> PolicyObject {
    let mut metadata = named(name);
    metadata["annotations"] = json!({POLICY_FOR_ANNOTATION: policy_for});
    object(&json!({"metadata": metadata, "spec": spec}))
}

fn definition(name: &str, config: &str) -> DefinitionObject {
    object(&json!({"metadata": named(name), "spec": {"config": config}}))
}

fn network(name: &str, policies: &str) -> NetworkObject {
    object(&json!({"metadata": {"name": name}, "spec": {"engine": "OVS", "policies": policies}}))
}

fn compiled(name: &str, spec: &Value) -> CompiledObject {
    object(&json!({"metadata": {"name": name}, "spec": spec}))
}

/// A cluster with the networks blue, which has policies, and red, which has none.
fn cluster() -> Observed {
    let mut observed = Observed::default();
    observed.policy(Event::InitDone);
    observed.network(Event::Init);
    observed.network(Event::InitApply(network("blue", "Enabled")));
    observed.network(Event::InitApply(network("red", "Disabled")));
    observed.network(Event::InitDone);
    observed.definition(Event::InitDone);
    observed.compiled(Event::InitDone);
    observed.slice(Event::InitDone);
    observed.node(Event::InitDone);
    observed.pod(Event::InitDone);
    observed.namespace(Event::InitDone);
    observed
}

/// The compiled policies with their networks, and the problems.
fn texts(compilation: &Compilation) -> (Vec<String>, Vec<String>) {
    let compiled = compilation.compiled.iter().map(|(name, spec)| {
        let networks: Vec<&str> = spec.networks.iter().map(|network| network.as_str()).collect();
        format!("{name} {}", networks.join(","))
    });
    let problems = compilation
        .problems
        .iter()
        .flat_map(|(name, problems)| problems.iter().map(move |problem| format!("{name}: {problem}")));
    (compiled.collect(), problems.collect())
}

#[test]
fn everything_has_to_be_listed_once() {
    let mut observed = Observed::default();
    observed.policy(Event::InitDone);
    observed.network(Event::InitDone);
    observed.definition(Event::InitDone);
    observed.compiled(Event::InitDone);
    observed.slice(Event::InitDone);
    observed.node(Event::InitDone);
    observed.namespace(Event::InitDone);
    assert_eq!(observed.missing(), ["Pods"]);
    observed.pod(Event::InitDone);
    observed.policy(Event::Init);
    assert!(observed.is_complete(), "it was listed before");
}

#[test]
fn a_policy_that_cannot_be_read_allows_nothing() {
    let mut observed = cluster();
    observed.policy(Event::Apply(policy("db/p", "blue", &json!({"ingress": "all"}))));
    observed.policy(Event::Apply(policy("db/q", "blue", &json!({"ingress": [{}]}))));
    let compilation = compile(&observed);
    let spec = &compilation.compiled["db.p"];
    assert_eq!((&spec.ingress, &spec.egress, spec.generation), (&Some(vec![]), &Some(vec![]), 3));
    let (compiled, problems) = texts(&compilation);
    assert_eq!(compiled, ["db.p blue", "db.q blue"]);
    let [problem] = problems.try_into().unwrap();
    assert!(problem.starts_with("db/p: spec: it cannot be read, and allows nothing"), "{problem}");
}

#[test]
fn definitions_of_usnet_are_not_kept() {
    let mut observed = Observed::default();
    let (own, other) = (nad::config(&"blue".parse().unwrap()), r#"{"type": "macvlan"}"#);
    let names = |observed: &Observed| {
        observed.definitions.objects.keys().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    observed.definition(Event::Apply(definition("db/blue", other)));
    assert_eq!(names(&observed), "db/blue");
    observed.definition(Event::Apply(definition("db/blue", &own)));
    assert_eq!(names(&observed), "");
    observed.definition(Event::Init);
    observed.definition(Event::InitApply(definition("db/lan", other)));
    observed.definition(Event::InitApply(definition("db/blue", &own)));
    observed.definition(Event::InitDone);
    assert_eq!(names(&observed), "db/lan");
    observed.definition(Event::Delete(definition("db/lan", other)));
    assert_eq!(names(&observed), "");
}

#[test]
fn a_policy_is_for_the_networks_of_its_definitions() {
    let mut observed = cluster();
    let all = json!({});
    observed.definition(Event::Apply(definition("db/mine", &nad::config(&"red".parse().unwrap()))));
    observed.definition(Event::Apply(definition("db/lan", r#"{"type": "macvlan"}"#)));
    observed.policy(Event::Apply(policy("db/a", "blue", &all)));
    observed.policy(Event::Apply(policy("db/b", "usnet-system/blue, mine", &all)));
    observed.policy(Event::Apply(policy("db/c", "lan", &all)));
    observed.policy(Event::Apply(policy("web/d", "db/mine, db/lan", &all)));
    observed.policy(Event::Apply(policy("web/e", "later", &all)));
    observed.policy(Event::Apply(policy("web/f", "", &all)));
    let (compiled, problems) = texts(&compile(&observed));
    assert_eq!(compiled, ["db.a blue", "db.b blue,red", "web.d red", "web.e later"]);
    let disabled = "network red has no policies, and nothing restricts its pods: set its spec.policies to Enabled";
    assert_eq!(problems, [format!("db/b: {disabled}"), format!("web/d: {disabled}")]);
}

#[test]
fn only_policies_for_networks_have_problems() {
    let mut observed = cluster();
    let labels = json!({"podSelector": {"matchLabels": {"app": "not a label"}}});
    observed.definition(Event::Apply(definition("db/lan", r#"{"type": "macvlan"}"#)));
    observed.definition(Event::Apply(definition("db/bad", r#"{"type": "userspace"}"#)));
    for (name, policy_for) in [("db/a", "lan"), ("db/b", "other"), ("db/c", ""), ("db/d", "blue"), ("db/e", "bad")] {
        observed.policy(Event::Apply(policy(name, policy_for, &labels)));
    }
    let compilation = compile(&observed);
    let names: Vec<String> = compilation.problems.keys().map(ToString::to_string).collect();
    assert_eq!(names, ["db/d", "db/e"]);
    let (compiled, _) = texts(&compilation);
    assert_eq!(compiled, ["db.b other", "db.d blue"]);
    assert!(matches!(observed.definitions.objects.values().next(), Some(Definition::Invalid(_))));
}

#[test]
fn what_differs_is_applied_and_what_is_left_is_deleted_last() {
    let mut observed = cluster();
    for name in ["db/a", "db/b", "db/c"] {
        observed.policy(Event::Apply(policy(name, "blue", &json!({}))));
    }
    let desired = compile(&observed).compiled;
    let same = serde_json::to_value(&desired["db.a"]).unwrap();
    let mut edited = serde_json::to_value(&desired["db.b"]).unwrap();
    edited["ingress"] = json!([{}]);
    for (name, spec) in [("a.left", &same), ("db.a", &same), ("db.b", &edited), ("db.c", &json!({"networks": 1}))] {
        observed.compiled(Event::Apply(compiled(name, spec)));
    }
    let none = (&BTreeMap::new(), &BTreeMap::new());
    let operations = plan(none, (&observed.compiled.objects, &desired));
    let apply = |name: &str| Operation::ApplyPolicy(name.to_owned(), desired[name].clone());
    assert_eq!(operations, [apply("db.b"), apply("db.c"), Operation::DeletePolicy("a.left".to_owned())]);
    let applied = desired.into_iter().map(|(name, spec)| (name, Some(spec))).collect();
    assert_eq!(plan(none, (&applied, &compile(&observed).compiled)), []);
}

fn node(name: &str, labels: &Value, pods: &Value) -> NodeStateObject {
    object(
        &json!({"metadata": {"name": name}, "spec": {"number": 1, "labels": labels}, "status": {"policyPods": pods}}),
    )
}

fn pod(name: &str, node: &str, labels: &Value) -> PodObject {
    let mut metadata = named(name);
    metadata["labels"] = labels.clone();
    object(&json!({"metadata": metadata, "spec": {"nodeName": node}}))
}

fn namespace(name: &str, labels: &Value) -> NamespaceObject {
    object(&json!({"metadata": {"name": name, "labels": labels}}))
}

/// The requests to an API server that refuses those with this text, and whether any failed; and
/// those of a second pass.
async fn reconciled(observed: Observed, refused: Option<(&'static str, u16)>) -> (Vec<String>, bool, Vec<String>) {
    let server = Server::start(refused);
    server.store(&observed);
    let (reports, _queue) = queue();
    let mut controller = Controller::new(server.client(), reports, Metrics::register(&Registry::new()).unwrap());
    controller.observed = observed;
    let has_failed = controller.reconcile().await.is_err();
    let first = server.requests();
    let _again = controller.reconcile().await;
    let second = server.requests().split_off(first.len());
    (first, has_failed, second)
}

fn with_policies_and_a_rest() -> Observed {
    let mut observed = cluster();
    for name in ["db/a", "db/b"] {
        observed.policy(Event::Apply(policy(name, "blue", &json!({}))));
    }
    observed.compiled(Event::Apply(compiled("db.old", &json!({}))));
    observed
}

#[tokio::test]
async fn what_was_written_is_not_written_again() {
    let (first, has_failed, second) = reconciled(with_policies_and_a_rest(), None).await;
    assert_eq!(first, ["POST policy db.a", "POST policy db.b", "DELETE policy db.old"]);
    assert!(!has_failed && second.is_empty(), "{second:?}");
}

#[tokio::test]
async fn what_is_refused_keeps_nothing_else_and_is_tried_again() {
    let (first, has_failed, second) = reconciled(with_policies_and_a_rest(), Some(("db.a", 403))).await;
    assert_eq!(first, ["POST policy db.a", "POST policy db.b", "DELETE policy db.old"]);
    assert!(has_failed);
    assert_eq!(second, ["POST policy db.a"]);
    let (_, has_failed, second) = reconciled(with_policies_and_a_rest(), Some(("db.old", 404))).await;
    assert!(!has_failed && second.is_empty(), "it was gone: {second:?}");
}

#[tokio::test]
async fn nothing_is_written_before_everything_is_listed() {
    let mut observed = Observed::default();
    observed.policy(Event::Apply(policy("db/a", "blue", &json!({}))));
    observed.compiled(Event::Apply(compiled("db.old", &json!({}))));
    observed.network(Event::InitDone);
    observed.definition(Event::InitDone);
    observed.compiled(Event::InitDone);
    let (first, has_failed, _) = reconciled(observed, None).await;
    assert!(first.is_empty() && !has_failed, "{first:?}");
}
