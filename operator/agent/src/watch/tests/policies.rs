//! Policies, and the pods that they select.

use super::{list, no_pods, node_state, subscribers};
use crate::model::policies::SlicesOfNetworks;
use crate::watch::follow::{PodSliceChannels, PolicyChannels, Subscribers, follow};
use crate::watch::list_watch::{Event, Object};
use crate::watch::policies::CompiledPolicyList;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::watch::{self, channel};
use usnet_common::testing::api_server::ApiServer;
use usnet_crds::CompiledPolicy;

fn pod_slice(name: &str, network: &str) -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspacePodSlice",
        "metadata": {"name": name, "resourceVersion": "3"},
        "spec": {"network": network, "selectors": [], "classes": []},
    })
}

#[tokio::test]
async fn the_pods_of_networks_that_the_node_has_pods_on_are_watched_by_their_label() {
    let server = ApiServer::choosing(move |line| {
        let is_watch = line.contains("watch=");
        let kinds = [("userspacenodestates", "UserspaceNodeState"), ("userspaceuplinks", "UserspaceUplink")];
        let kinds = kinds.into_iter().chain([("userspacepodslices", "UserspacePodSlice"), ("", "CompiledNetwork")]);
        let (_, kind) = kinds.into_iter().find(|(plural, _)| line.contains(plural)).unwrap();
        let items = match kind {
            "UserspaceNodeState" => vec![node_state()],
            "UserspacePodSlice" => vec![pod_slice("blue.0", "blue"), pod_slice("mislabelled", "red")],
            _ => Vec::new(),
        };
        (!is_watch).then(|| list(kind, 10, &items))
    });
    let ((inputs, mut known_inputs), (statuses, _statuses)) = (channel(None), channel(None));
    let (networks, (updates, mut known)) = (watch::Sender::new([].into()), channel(None));
    let pods = PodSliceChannels { networks: networks.subscribe(), updates };
    let policies = PolicyChannels { needed: channel(false).1, updates: channel(None).0, pods };
    let follow = follow(server.client(), "node-a".into(), Subscribers { policies, ..subscribers(inputs, statuses) });
    let check = async {
        known_inputs.wait_for(Option::is_some).await.unwrap();
        let of_pods = || server.requests().into_iter().filter(|line| line.contains("podslices")).collect::<Vec<_>>();
        assert_eq!(of_pods(), Vec::<String>::new(), "the node has no pods");
        for names in [["blue", "green"].as_slice(), &["blue"]] {
            networks.send_replace(names.iter().map(|name| name.parse().unwrap()).collect());
            let is_of_these = |slices: &Option<Arc<SlicesOfNetworks>>| {
                slices.as_ref().is_some_and(|slices| slices.networks.len() == names.len())
            };
            let slices = known.wait_for(is_of_these).await.unwrap().clone().unwrap();
            assert_eq!(slices.slices.len(), 1, "another one is not of the network of its label");
            let selector = format!("usnet.dev%2Fnetwork+in+%28{}%29", names.join("%2C"));
            assert!(of_pods().iter().any(|line| line.contains(&selector)), "{selector}: {:?}", of_pods());
        }
    };
    tokio::select! {
        () = follow => panic!("it ended"),
        () = check => {}
    }
}

#[tokio::test]
async fn policies_are_watched_only_while_they_are_needed() {
    let server = ApiServer::choosing(move |line| {
        let is_watch = line.contains("watch=");
        let kinds = [("userspacenodestates", "UserspaceNodeState"), ("userspaceuplinks", "UserspaceUplink")];
        let kinds = kinds.into_iter().chain([("compiledpolicies", "CompiledPolicy"), ("", "CompiledNetwork")]);
        let (_, kind) = kinds.into_iter().find(|(plural, _)| line.contains(plural)).unwrap();
        let items = match kind {
            "UserspaceNodeState" => vec![node_state()],
            "CompiledPolicy" => vec![policy("db.p", 3, &json!([]))],
            _ => Vec::new(),
        };
        (!is_watch).then(|| list(kind, 10, &items))
    });
    let ((inputs, mut known_inputs), (statuses, _statuses)) = (channel(None), channel(None));
    let (needed, (updates, mut known)) = (watch::Sender::new(false), channel(None));
    let policies = PolicyChannels { needed: needed.subscribe(), updates, pods: no_pods() };
    let follow = follow(server.client(), "node-a".into(), Subscribers { policies, ..subscribers(inputs, statuses) });
    let check = async {
        known_inputs.wait_for(Option::is_some).await.unwrap();
        assert!(!server.requests().iter().any(|line| line.contains("compiledpolicies")), "{:?}", server.requests());
        needed.send_replace(true);
        let policies = known.wait_for(Option::is_some).await.unwrap().clone().unwrap();
        assert_eq!((policies.len(), policies[0].name.as_str()), (1, "p"));
        // Faster than anything can see that they were not needed.
        needed.send_replace(false);
        needed.send_replace(true);
        let is_list = |line: &&String| line.contains("compiledpolicies") && !line.contains("watch=");
        let second_list = async {
            while server.requests().iter().filter(is_list).count() < 2 {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), second_list).await.expect("a second list");
    };
    tokio::select! {
        () = follow => panic!("it ended"),
        () = check => {}
    }
}

fn policy(name: &str, version: u64, ingress: &Value) -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "CompiledPolicy",
        "metadata": {"name": name, "uid": "1", "resourceVersion": version.to_string()},
        "spec": {"networks": ["blue"], "namespace": "db", "name": "p", "generation": version, "ingress": ingress},
    })
}

#[test]
fn a_policy_that_cannot_be_read_keeps_its_last_form_and_without_one_all_do() {
    let (updates, known) = channel(None);
    let mut policies = CompiledPolicyList::new(updates);
    let object = |name: &str, version: u64, ingress: &Value| {
        serde_json::from_str::<Object<CompiledPolicy>>(&policy(name, version, ingress).to_string()).unwrap()
    };
    let generations = || {
        let known = known.borrow();
        known.as_ref().map(|all| all.iter().map(|policy| policy.generation).collect::<Vec<_>>())
    };
    let (good, bad) = (json!([]), json!("of a later release"));
    policies.on_event(Event::Page { objects: vec![object("a", 1, &bad)], is_first: true, complete: Some(2) });
    assert_eq!(generations(), None, "what it restricts is not known");
    let objects = vec![object("a", 3, &good)];
    policies.on_event(Event::Page { objects, is_first: true, complete: None });
    policies.on_event(Event::Page { objects: vec![object("b", 4, &good)], is_first: false, complete: Some(5) });
    assert_eq!(generations(), Some(vec![3, 4]));
    policies.on_event(Event::Applied(object("a", 6, &bad)));
    assert_eq!(generations(), Some(vec![3, 4]), "as last read");
    policies.on_event(Event::Applied(object("c", 7, &bad)));
    policies.on_event(Event::Applied(object("b", 8, &good)));
    assert_eq!(generations(), Some(vec![3, 4]), "the others alone would allow too much");
    policies.on_event(Event::Deleted(object("c", 9, &bad)));
    assert_eq!(generations(), Some(vec![3, 8]));
}
