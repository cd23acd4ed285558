//! Names, sizes and what is read of objects that others wrote. That nodes get what was compiled is
//! in `tests/integration/policies.rs`.

use super::name::{OBJECT_NAME_MAX, object_name};
use super::spec::{CompiledPolicy, CompiledPolicySpec};
use crate::multi_network_policy::spec::DEFINITIONS_MAX;
use crate::policy::Policy;
use crate::policy::pods::SelectorId;
use crate::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, PortRange, TransportProtocol};
use crate::policy::{PEERS_MAX, PORTS_MAX, RULES_MAX};
use crate::types::names::POD_NAME_MAX;
use crate::{NetworkName, PodName};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::Ipv6Addr;

#[test]
fn each_policy_has_an_object_of_its_own() {
    let (long, ends) = ("p".repeat(POD_NAME_MAX), format!("{}.b", "a".repeat(POD_NAME_MAX - 2)));
    let (long, ends) = (long.as_str(), ends.as_str());
    let policies = [("db", "p"), ("d", "b.p"), ("db", long), ("d", long), ("db", &long[1..]), ("db", ends)];
    let names: BTreeSet<String> = policies.iter().map(|(namespace, policy)| object_name(namespace, policy)).collect();
    assert_eq!(names.len(), policies.len());
    for name in &names {
        // Both are DNS subdomains.
        assert!(PodName::try_from(name.clone()).is_ok(), "{name}");
    }
    assert_eq!(object_name("db", "p"), "db.p");
    let shortened = object_name("db", long);
    let (_, as_policy) = shortened.split_once('.').unwrap();
    assert_ne!(object_name("db", as_policy), shortened, "a policy of that name has another object");
    assert_eq!(shortened.len(), OBJECT_NAME_MAX);
}

#[test]
fn a_shortened_name_has_no_part_that_ends_in_a_dash() {
    for place in 228..236 {
        let policy = format!("{}.b--c.d{}", "a".repeat(place), "e".repeat(17));
        let name = object_name("db", &policy);
        assert!(PodName::try_from(name.clone()).is_ok(), "{name}");
    }
}

/// Prefixes and ports whose texts are the longest.
fn largest() -> CompiledPolicySpec {
    let prefix = |place: usize| {
        let last = u16::try_from(place).unwrap();
        ipnet::IpNet::new(Ipv6Addr::new(!0, !0, !0, !0, !0, !0, !0, 60_000 + last).into(), 128).unwrap()
    };
    let range = |place: usize| {
        let first = 10_000 + u16::try_from(place).unwrap();
        PortRange { protocol: TransportProtocol::Tcp, first, last: u16::MAX }
    };
    let mut rules: Vec<PolicyRule> = (0..RULES_MAX - 1)
        .map(|_| PolicyRule { peers: PeerAddresses::Any, peer_pods: BTreeSet::new(), ports: DestinationPorts::Any })
        .collect();
    rules.push(PolicyRule {
        peers: PeerAddresses::Within((0..PEERS_MAX).map(prefix).collect()),
        peer_pods: BTreeSet::new(),
        ports: DestinationPorts::Within((0..PORTS_MAX).map(range).collect()),
    });
    let network = |place: usize| NetworkName::try_from(format!("{place:a<63}")).unwrap();
    let namespace = "n".repeat(63).parse().unwrap();
    let policy = Policy { namespace, name: "p".repeat(POD_NAME_MAX), pods: None, ingress: Some(rules), egress: None };
    CompiledPolicySpec::new((100..100 + DEFINITIONS_MAX).map(network).collect(), i64::MAX, policy)
}

#[test]
fn the_largest_policy_is_small() {
    let spec = largest();
    let rules = spec.ingress.as_ref().unwrap();
    assert_eq!((rules.len(), spec.networks.len()), (RULES_MAX, DEFINITIONS_MAX));
    assert_eq!(rules.iter().flat_map(|rule| rule.peers.iter().flatten()).count(), PEERS_MAX);
    let size = serde_json::to_vec(&spec).unwrap().len();
    assert!((50_000..100_000).contains(&size), "{size} bytes");
}

fn read(spec: &Value) -> Policy {
    let object = json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "CompiledPolicy", "metadata": {"name": "db.p"}, "spec": spec,
    });
    serde_json::from_value::<CompiledPolicy>(object).unwrap().spec.policy()
}

#[test]
fn what_is_left_out_is_any_and_what_is_empty_is_nothing() {
    let with = |ingress: Value| {
        let policy = read(&json!({
            "networks": ["blue"], "namespace": "db", "name": "p", "generation": 1, "ingress": ingress,
        }));
        assert_eq!(policy.egress, None);
        policy.ingress.unwrap()
    };
    assert_eq!(with(json!([])), []);
    assert_eq!(
        with(json!([{}])),
        [PolicyRule { peers: PeerAddresses::Any, peer_pods: BTreeSet::new(), ports: DestinationPorts::Any }]
    );
    let nothing = PolicyRule {
        peers: PeerAddresses::Within([].into()),
        peer_pods: BTreeSet::new(),
        ports: DestinationPorts::Within([].into()),
    };
    let backwards = json!([{"protocol": "TCP", "first": 2, "last": 1}]);
    assert_eq!(with(json!([{"peers": [], "ports": backwards}])), [nothing]);
    let of_pods = json!([{"peers": [], "pods": ["0000000000000000000000000000000a"]}]);
    let [PolicyRule { peers, peer_pods, .. }] = with(of_pods).try_into().unwrap();
    assert_eq!((peers, peer_pods), (PeerAddresses::Within([].into()), [SelectorId::new(10)].into()));
    let host_bits = with(json!([{"peers": ["10.0.0.7/24"]}]));
    let prefixes = PeerAddresses::Within(["10.0.0.0/24".parse().unwrap()].into());
    assert_eq!(host_bits, [PolicyRule { peers: prefixes, peer_pods: BTreeSet::new(), ports: DestinationPorts::Any }]);
}

/// Agents of before know neither selectors of pods nor pods that are peers.
#[test]
fn what_agents_without_labels_read_of_a_policy_with_labels_allows_nothing() {
    let peers = PeerAddresses::Within([].into());
    let rule = PolicyRule { peers, peer_pods: [SelectorId::new(1)].into(), ports: DestinationPorts::Any };
    let any = PolicyRule { peers: PeerAddresses::Any, peer_pods: [].into(), ports: DestinationPorts::Any };
    let spec = |pods| {
        let (namespace, ingress) = ("db".parse().unwrap(), Some(vec![rule.clone(), any.clone()]));
        let policy = Policy { namespace, name: "p".to_owned(), pods, ingress, egress: None };
        serde_json::to_value(CompiledPolicySpec::new(["blue".parse().unwrap()].into(), 1, policy)).unwrap()
    };
    let of_some = spec(Some(SelectorId::new(2)));
    assert_eq!((&of_some["ingress"], of_some.get("egress")), (&json!([]), None));
    assert_eq!(spec(None)["ingress"][0]["peers"], json!([]));
}
