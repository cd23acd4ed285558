//! What is read of each field, and which fields are refused. Whole policies are compared with what
//! they say in `tests/integration/policies.rs`.

use super::problem::PolicyProblem;
use super::read::{ReadPolicy, read};
use super::spec::DEFINITIONS_MAX;
use super::spec::MultiNetworkPolicy;
use crate::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule};
use crate::policy::{PEERS_MAX, PORTS_MAX, RULES_MAX};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

fn policy(annotation: &str, spec: &Value) -> ReadPolicy {
    let metadata =
        json!({"name": "p", "namespace": "db", "annotations": {"k8s.v1.cni.cncf.io/policy-for": annotation}});
    let object = json!({
        "apiVersion": "k8s.cni.cncf.io/v1beta1", "kind": "MultiNetworkPolicy", "metadata": metadata, "spec": spec,
    });
    read(&serde_json::from_value::<MultiNetworkPolicy>(object).unwrap())
}

fn of(spec: &Value) -> ReadPolicy {
    policy("blue", spec)
}

fn problems(read: &ReadPolicy) -> Vec<String> {
    read.problems.iter().map(ToString::to_string).collect()
}

/// The rules for connections to the pods.
fn ingress(read: ReadPolicy) -> Vec<PolicyRule> {
    read.policy.unwrap().ingress.unwrap()
}

#[test]
fn a_policy_is_for_the_networks_of_its_annotation() {
    let names = |annotation: &str| {
        let read = policy(annotation, &json!({}));
        let names = read.definitions.iter().map(|found| format!("{}/{}", found.namespace, found.name));
        (names.collect::<Vec<_>>().join(" "), read.problems.len())
    };
    assert_eq!(names("blue"), ("db/blue".to_owned(), 0));
    assert_eq!(names(" blue , other/red,,blue"), ("db/blue other/red".to_owned(), 0));
    assert_eq!(names(""), (String::new(), 1));
    assert_eq!(names("a/b/c, ok, /x, y/"), ("db/ok".to_owned(), 3));
    assert_eq!(names(&"/,".repeat(1000)).1, DEFINITIONS_MAX + 1, "no more problems than NADs");
    let many: Vec<String> = (0..=DEFINITIONS_MAX).map(|number| format!("n{number}")).collect();
    assert_eq!(policy(&many.join(","), &json!({})).definitions.len(), DEFINITIONS_MAX);
}

#[test]
fn directions_follow_from_types_or_else_from_rules() {
    let directions = |spec: Value| {
        let policy = of(&spec).policy.unwrap();
        (policy.ingress.is_some(), policy.egress.is_some())
    };
    assert_eq!(directions(json!({})), (true, false));
    assert_eq!(directions(json!({"egress": []})), (true, false));
    assert_eq!(directions(json!({"egress": [{}]})), (true, true));
    assert_eq!(directions(json!({"policyTypes": ["Egress"], "ingress": [{}]})), (false, true));
    assert_eq!(directions(json!({"policyTypes": ["ingress", "Egress"]})), (true, true));
    let unknown = of(&json!({"policyTypes": ["Both"]}));
    assert_eq!(problems(&unknown), [r#"spec.policyTypes[0]: "Both" is no type of a policy: use Ingress or Egress"#]);
    assert_eq!(unknown.policy.unwrap().ingress, None);
}

#[test]
fn a_policy_is_for_the_pods_of_its_selector() {
    for all in [json!({}), json!({"podSelector": {}}), json!({"podSelector": {"matchLabels": {}}})] {
        let read = of(&all);
        assert!(read.policy.unwrap().pods.is_none() && read.problems.is_empty() && read.selectors.is_empty(), "{all}");
    }
    let app = of(&json!({"podSelector": {"matchLabels": {"app": "db"}}, "ingress": [{"ports": [{"port": 80}]}]}));
    let (id, selector) = app.selectors.iter().next().unwrap();
    let (policy, labels) =
        (app.policy.as_ref().unwrap(), |app: &str| BTreeMap::from([("app".to_owned(), app.to_owned())]));
    assert_eq!((policy.pods, policy.ingress.as_ref().unwrap().len(), app.problems.len()), (Some(*id), 1, 0));
    let selects = |namespace: &str, app: &str| selector.selects(&labels(app), namespace, &BTreeMap::new());
    assert_eq!((selects("db", "db"), selects("db", "web"), selects("web", "db")), (true, false, false));
    let other = of(&json!({"podSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["db"]}]}}));
    assert_eq!(other.policy.unwrap().pods, Some(*id), "it says the same in other words");
}

#[test]
fn a_policy_whose_selector_cannot_be_read_restricts_all_pods_and_allows_nothing() {
    for some in [
        json!({"matchLabels": {"app": "not a label"}}),
        json!({"matchExpressions": [{"key": "app", "operator": "Like", "values": ["db"]}]}),
        json!({"matchExpressions": [{"key": "app", "operator": "In"}]}),
        json!({"matchExpressions": [{"key": "app", "operator": "Exists", "values": ["db"]}]}),
    ] {
        let spec = json!({"podSelector": some, "ingress": [{"ports": [{"port": 80}]}]});
        let (read, all) = (of(&spec), of(&json!({"ingress": []})));
        let [problem] = problems(&read).try_into().unwrap();
        assert!(problem.starts_with("spec.podSelector: ") && problem.contains("restricts all pods"), "{problem}");
        assert_eq!(read.policy, all.policy, "{some}");
    }
}

#[test]
fn selectors_that_differ_have_different_ids() {
    let peers = [
        json!({"podSelector": {}}),
        json!({"namespaceSelector": {}}),
        json!({"podSelector": {"matchLabels": {"a": "b"}}}),
        json!({"namespaceSelector": {"matchLabels": {"a": "b"}}}),
        json!({"podSelector": {"matchLabels": {"a": "b"}}, "namespaceSelector": {}}),
        json!({"podSelector": {"matchLabels": {"a": "b"}}, "namespaceSelector": {"matchLabels": {"a": "b"}}}),
        json!({"podSelector": {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}}),
        json!({"podSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}),
        json!({"podSelector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}}),
        json!({"podSelector": {"matchLabels": {"a": "b", "c": "d"}}}),
        json!({"podSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "c"]}]}}),
    ];
    let read = of(&json!({"ingress": [{"from": peers}]}));
    assert_eq!((read.selectors.len(), read.problems.len()), (peers.len(), 0));
    let ids: BTreeSet<_> = read.selectors.keys().copied().collect();
    let [PolicyRule { peers: addresses, peer_pods, .. }] = ingress(read).try_into().unwrap();
    assert_eq!((addresses, &peer_pods), (PeerAddresses::Within([].into()), &ids));
    let in_another_order = of(&json!({"ingress": [{"from": peers.iter().rev().collect::<Vec<_>>()}]}));
    assert_eq!(in_another_order.selectors.into_keys().collect::<BTreeSet<_>>(), ids);
}

#[test]
fn a_peer_that_cannot_be_enforced_allows_nothing() {
    for (peer, field) in [
        (json!({}), "neither"),
        (json!({"podSelector": {"matchLabels": {"a b": "c"}}}), "selector cannot be read"),
        (
            json!({"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}),
            "selector cannot be read",
        ),
        (json!({"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}), "two peers"),
        (json!({"ipBlock": {"cidr": "10.0.0.0"}}), "not a block"),
        (json!({"ipBlock": {"cidr": "10.0.0.0/33"}}), "not a block"),
        (json!({"ipBlock": {"cidr": "::ffff:10.0.0.0/104"}}), "not a block"),
        (json!({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/8"]}}), "not part"),
        (json!({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["fd00::/8"]}}), "not part"),
        (json!({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["x"]}}), "not part"),
        (json!({"ipBlock": {"cidr": "::/0", "except": ["::1/128", "fd00::1/128"]}}), "several blocks"),
    ] {
        let read = of(&json!({"ingress": [{"from": [peer]}]}));
        let [problem] = problems(&read).try_into().unwrap();
        assert!(problem.starts_with("spec.ingress[0].from[0]: ") && problem.contains(field), "{peer}: {problem}");
        let [PolicyRule { peers, peer_pods, ports }] = ingress(read).try_into().unwrap();
        let nothing = (PeerAddresses::Within([].into()), [].into(), DestinationPorts::Any);
        assert_eq!((peers, peer_pods, ports), nothing, "{peer}");
    }
}

#[test]
fn a_port_that_cannot_be_enforced_allows_nothing() {
    for (port, field) in [
        (json!({"protocol": "SCTP", "port": 80}), "SCTP"),
        (json!({"protocol": "tcp"}), "tcp"),
        (json!({"port": "http"}), "http"),
        (json!({"port": "80"}), "number"),
        (json!({"port": 0}), "port 0"),
        (json!({"port": 65536}), "port 65536"),
        (json!({"port": 80, "endPort": 79}), "endPort 79"),
        (json!({"port": 80, "endPort": 65536}), "endPort 65536"),
        (json!({"endPort": 80}), "endPort 80"),
    ] {
        let read = of(&json!({"ingress": [{"ports": [port]}]}));
        let [problem] = problems(&read).try_into().unwrap();
        assert!(problem.starts_with("spec.ingress[0].ports[0]: ") && problem.contains(field), "{port}: {problem}");
        let [PolicyRule { peers, ports, .. }] = ingress(read).try_into().unwrap();
        assert_eq!((peers, ports), (PeerAddresses::Any, DestinationPorts::Within([].into())), "{port}");
    }
}

#[test]
fn what_can_be_enforced_of_a_rule_is() {
    let block = json!({"ipBlock": {"cidr": "10.0.0.7/30", "except": ["10.0.0.6/32"]}});
    let read = of(&json!({"ingress": [{
        "from": [{}, {"podSelector": {}}, block], "ports": [{"port": "x"}, {"port": 80, "endPort": 82}, {"protocol": "UDP"}],
    }]}));
    assert_eq!(read.problems.len(), 2);
    let [PolicyRule { peers, peer_pods, ports }] = ingress(read).try_into().unwrap();
    assert_eq!(peer_pods.len(), 1);
    let PeerAddresses::Within(peers) = peers else { panic!("any") };
    let peers: Vec<String> = peers.iter().map(ToString::to_string).collect();
    assert_eq!(peers, ["10.0.0.4/31", "10.0.0.7/32"]);
    let DestinationPorts::Within(ports) = ports else { panic!("any") };
    let ports: Vec<(u16, u16)> = ports.iter().map(|range| (range.first, range.last)).collect();
    assert_eq!(ports, [(80, 82), (0, 65535)]);
}

#[test]
fn a_policy_that_nodes_cannot_keep_allows_nothing() {
    let blocks = |number: usize| (0..number).map(|place| format!("10.{}.{}.0/24", place / 256, place % 256));
    let peers = |number| blocks(number).map(|cidr| json!({"ipBlock": {"cidr": cidr}})).collect::<Vec<_>>();
    // 120 prefixes of each block are left.
    let excepted = |number: usize| {
        let peer =
            |place| json!({"ipBlock": {"cidr": format!("{place:x}::/8"), "except": [format!("{place:x}::1/128")]}});
        (0x1000..).step_by(0x100).take(number).map(peer).collect::<Vec<_>>()
    };
    let ports = |number: usize| (1..=number).map(|port| json!({"port": port})).collect::<Vec<_>>();
    let rules = |number: usize| vec![json!({}); number];
    for (largest, too_large) in [
        (json!({"ingress": [{"from": peers(PEERS_MAX)}]}), json!({"ingress": [{"from": peers(PEERS_MAX + 1)}]})),
        (
            json!({"ingress": [{"from": peers(1)}], "egress": [{"to": peers(PEERS_MAX - 1)}]}),
            json!({"ingress": [{"from": peers(1)}], "egress": [{"to": peers(PEERS_MAX)}]}),
        ),
        (json!({"ingress": [{"from": excepted(8)}]}), json!({"ingress": [{"from": excepted(9)}]})),
        (json!({"egress": [{"ports": ports(PORTS_MAX)}]}), json!({"egress": [{"ports": ports(PORTS_MAX + 1)}]})),
        (json!({"ingress": rules(RULES_MAX)}), json!({"ingress": rules(RULES_MAX + 1)})),
        (
            json!({"ingress": rules(1), "egress": rules(RULES_MAX - 1)}),
            json!({"ingress": rules(1), "egress": rules(RULES_MAX)}),
        ),
    ] {
        let (largest, too_large) = (of(&largest), of(&too_large));
        assert_eq!(problems(&largest), Vec::<String>::new());
        let (kept, closed) = (largest.policy.unwrap(), too_large.policy.unwrap());
        assert!(kept.ingress.iter().chain(&kept.egress).any(|rules| !rules.is_empty()));
        assert_eq!((closed.ingress, closed.egress), (kept.ingress.map(|_| vec![]), kept.egress.map(|_| vec![])));
        let [problem] = too_large.problems.try_into().unwrap();
        assert_eq!((problem.field.as_str(), problem.problem), ("spec", PolicyProblem::TooLarge));
    }
}
