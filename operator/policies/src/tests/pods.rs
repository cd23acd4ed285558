//! Which pods selectors select, whose reports count, and when nodes get that.

use super::{cluster, namespace, node, pod, policy, reconciled};
use crate::compile::compile;
use crate::events::queue;
use crate::metrics::Metrics;
use crate::observed::Observed;
use crate::pods::{NetworkPods, classify};
use crate::run::Controller;
use crate::selectors::used;
use kube::runtime::watcher::Event;
use prometheus::Registry;
use serde_json::{Value, json};
use usnet_common::testing::api_server::ApiServer;
use usnet_crds::policy::pods::PodClass;

/// The nodes `one` and `two` with the pods `server` and `client` of the namespace `db`, and a
/// policy for servers that allows clients.
pub(super) fn labelled() -> Observed {
    let mut observed = cluster();
    observed.namespace(Event::Apply(namespace("db", &json!({"team": "a"}))));
    observed.pod(Event::Apply(pod("db/server", "one", &json!({"app": "server"}))));
    observed.pod(Event::Apply(pod("db/client", "two", &json!({"app": "client"}))));
    observed.node(Event::Apply(node("one", &json!({}), &json!([of("blue", "server", "10.9.0.1")]))));
    observed.node(Event::Apply(node("two", &json!({}), &json!([of("blue", "client", "10.9.0.2")]))));
    observed.policy(Event::Apply(policy("db/p", "blue", &servers("server"))));
    observed
}

fn servers(app: &str) -> Value {
    let clients = json!({"podSelector": {"matchLabels": {"app": "client"}}});
    json!({"podSelector": {"matchLabels": {"app": app}}, "ingress": [{"from": [clients]}]})
}

fn of(network: &str, name: &str, address: &str) -> Value {
    json!({"network": network, "uid": format!("uid-{name}"), "addresses": [address]})
}

fn blue(observed: &Observed) -> NetworkPods {
    let compilation = compile(observed);
    let used = used(compilation.compiled.values());
    classify(observed, &used, &compilation.selectors).remove(&"blue".parse().unwrap()).unwrap_or_default()
}

/// How many selectors select each pod, and how many do not.
fn selected(observed: &Observed) -> Vec<(String, usize, usize)> {
    let of = |class: &PodClass| (class.selected_by.len(), class.not_selected_by.len());
    let all = blue(observed).pods.into_iter().map(|(uid, pod)| (uid, of(&pod.class)));
    all.map(|(uid, (yes, no))| (uid, yes, no)).collect()
}

fn row(name: &str, yes: usize, no: usize) -> (String, usize, usize) {
    (format!("uid-{name}"), yes, no)
}

#[test]
fn pods_are_of_the_classes_that_their_labels_say() {
    let mut observed = labelled();
    assert_eq!(selected(&observed), [row("client", 1, 1), row("server", 1, 0)]);
    observed.pod(Event::Apply(pod("db/client", "two", &json!({"app": "other"}))));
    assert_eq!(selected(&observed), [row("client", 0, 1), row("server", 1, 0)]);
    observed.policy(Event::Apply(policy(
        "web/q",
        "blue",
        &json!({"ingress": [{"from": [{"namespaceSelector": {"matchLabels": {"team": "a"}}}]}]}),
    )));
    assert_eq!(selected(&observed), [row("client", 1, 1), row("server", 2, 0)]);
    observed.namespace(Event::Apply(namespace("db", &json!({"team": "b"}))));
    assert_eq!(selected(&observed), [row("client", 0, 1), row("server", 1, 0)]);
    observed.policy(Event::Delete(policy("db/p", "blue", &json!({}))));
    assert_eq!(selected(&observed), [], "no selector concerns them");
}

#[test]
fn reports_count_for_pods_of_the_node_and_networks_of_the_node() {
    let mut observed = labelled();
    let forged =
        json!([of("blue", "server", "10.9.0.1"), of("blue", "client", "10.9.0.66"), of("red", "server", "10.9.0.7")]);
    observed.node(Event::Apply(node("one", &json!({}), &forged)));
    let client = blue(&observed).pods.remove("uid-client").unwrap();
    assert_eq!(client.addresses, ["10.9.0.2".parse().unwrap()].into(), "a pod of another node");
    observed.pod(Event::Delete(pod("db/client", "two", &json!({}))));
    assert_eq!(selected(&observed), [row("server", 1, 0)], "the pod is gone");
    let part = json!({"metadata": {"name": "blue"}, "spec": {"policies": "Enabled", "nodeSelector": {"matchLabels": {"rack": "1"}}}});
    observed.network(Event::Apply(super::object(&part)));
    assert_eq!(selected(&observed), [], "the network is not on the node");
    observed.node(Event::Apply(node("one", &json!({"rack": "1"}), &forged)));
    assert_eq!(selected(&observed), [row("server", 1, 0)]);
    observed.network(Event::Apply(super::network("blue", "Disabled")));
    assert_eq!(selected(&observed), []);
}

#[test]
fn what_changes_nothing_is_no_change() {
    let mut observed = labelled();
    let same = node("one", &json!({}), &json!([of("blue", "server", "10.9.0.1")]));
    assert!(!observed.node(Event::Apply(same)));
    assert!(!observed.pod(Event::Apply(pod("db/server", "one", &json!({"app": "server"})))));
    assert!(observed.pod(Event::Apply(pod("db/server", "one", &json!({"app": "client"})))));
}

#[tokio::test]
async fn nodes_get_pods_before_policies_that_select_them() {
    let (first, has_failed, second) = reconciled(labelled(), None).await;
    assert_eq!((first, has_failed), (vec!["POST pods blue.0".to_owned(), "POST policy db.p".to_owned()], false));
    assert_eq!(second, Vec::<String>::new());
}

/// How many selectors the slices have for the pod `server`.
fn of_server(controller: &mut Controller) -> usize {
    let compilation = compile(&controller.observed);
    let slices = controller.slices(&compilation);
    let server = slices.values().find_map(|slice| slice.pods().remove("uid-server"));
    server.map_or(0, |pod| pod.class.selected_by.len() + pod.class.not_selected_by.len())
}

/// Nodes that have the policy of before still need to know its selector.
#[tokio::test]
async fn the_selector_of_a_policy_stays_while_nodes_may_have_the_policy() {
    let (reports, _queue) = queue();
    let metrics = Metrics::register(&Registry::new()).unwrap();
    let mut controller = Controller::new(ApiServer::choosing(|_| None).client(), reports, metrics);
    controller.observed = labelled();
    assert_eq!(of_server(&mut controller), 1);
    store(&mut controller.observed);
    controller.observed.policy(Event::Apply(policy("db/p", "blue", &servers("other"))));
    assert_eq!(of_server(&mut controller), 2);
    store(&mut controller.observed);
    assert_eq!(of_server(&mut controller), 1);
}

/// What is compiled now is stored.
fn store(observed: &mut Observed) {
    for (name, spec) in compile(observed).compiled {
        observed.compiled(Event::Apply(super::compiled(&name, &serde_json::to_value(spec).unwrap())));
    }
}

#[tokio::test]
async fn a_policy_that_is_deleted_goes_before_what_it_needs() {
    let mut observed = labelled();
    store(&mut observed);
    let slice = json!({"network": "blue", "selectors": [], "classes": []});
    observed.slice(Event::Apply(super::object(&json!({"metadata": {"name": "blue.0"}, "spec": slice}))));
    observed.policy(Event::Delete(policy("db/p", "blue", &json!({}))));
    let (first, _, second) = reconciled(observed, None).await;
    assert_eq!(first.last().map(String::as_str), Some("DELETE policy db.p"), "{first:?}");
    assert!(second.is_empty() || second == ["DELETE pods blue.0"], "{second:?}");
}
