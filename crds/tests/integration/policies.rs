//! Random policies of random pods, as they are read and evaluated, against what their JSON says
//! word by word: with other code for prefixes, ports, selectors and defaults.

use crate::support::rejected;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use usnet_crds::compiled_policy::spec::CompiledPolicySpec;
use usnet_crds::multi_network_policy::read::{ReadPolicy, read};
use usnet_crds::policy::pods::{KnownPod, PodAddresses, PodClass};
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, TransportProtocol};
use usnet_crds::policy::verdict::{Connection, is_allowed, is_known};
use usnet_crds::policy::{Direction, Policy};
use usnet_crds::{CompiledPolicy, MultiNetworkPolicy};

/// Few addresses and ports, so that blocks, exceptions and connections often meet.
fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        (0..16_u8).prop_map(|last| Ipv4Addr::new(10, 0, 0, last).into()),
        (0..16_u16).prop_map(|last| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last).into()),
    ]
}

fn block() -> impl Strategy<Value = String> {
    let whole = prop::sample::select(vec!["0.0.0.0/0", "::/0", "10.0.0.0/8", "fd00::/8", "192.168.0.0/16"]);
    let of_address = (address(), 0..5_u8).prop_map(|(address, free)| {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        format!("{address}/{}", bits - free)
    });
    prop_oneof![4 => of_address, 1 => whole.prop_map(str::to_owned), 1 => Just("10.0.0/8".to_owned())]
}

fn peer() -> impl Strategy<Value = Value> {
    let of_block = (block(), prop::collection::vec(block(), 0..4)).prop_map(|(cidr, mut except)| {
        // One that is not part of the block makes the peer match nothing: most of them are.
        except.retain(|exception| contains(&cidr, exception) != Some(false) || exception.starts_with("10.0.0.3/"));
        json!({"ipBlock": {"cidr": cidr, "except": except}})
    });
    let others = [json!({}), json!({"namespaceSelector": {}, "ipBlock": {"cidr": "0.0.0.0/0"}})];
    let of_labels = (prop::option::of(selector()), prop::option::of(selector())).prop_map(|(pods, namespaces)| {
        let fields = [("podSelector", pods), ("namespaceSelector", namespaces)];
        fields.into_iter().filter_map(|(name, selector)| Some((name.to_owned(), selector?))).collect()
    });
    prop_oneof![4 => of_block, 4 => of_labels, 1 => prop::sample::select(others.to_vec())]
}

/// A selector of few labels. One of some cannot be read.
fn selector() -> impl Strategy<Value = Value> {
    let requirement = (
        prop::sample::select(vec!["a", "b"]),
        prop::sample::select(vec!["In", "NotIn", "Exists", "DoesNotExist", "In", "NotIn", "Like"]),
        prop::collection::vec(prop::sample::select(vec!["x", "y"]), 0..3),
    );
    let requirement = requirement.prop_map(|(key, operator, mut values)| match operator {
        "Exists" | "DoesNotExist" => json!({"key": key, "operator": operator}),
        _ => {
            if values.is_empty() && operator == "In" {
                values.push("x");
            }
            json!({"key": key, "operator": operator, "values": values})
        }
    });
    let expressions = prop::collection::vec(requirement, 0..3);
    (labels(), expressions)
        .prop_map(|(labels, expressions)| json!({"matchLabels": labels, "matchExpressions": expressions}))
}

fn labels() -> impl Strategy<Value = BTreeMap<String, String>> {
    let label = (prop::sample::select(vec!["a", "b"]), prop::sample::select(vec!["x", "y"]));
    let labels = prop::collection::vec(label, 0..2);
    labels.prop_map(|labels| labels.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
}

/// A pod with one address, and the labels of its namespace. All pods of a namespace have the same.
#[derive(Debug, Clone)]
struct Pod {
    namespace: &'static str,
    labels: BTreeMap<String, String>,
    address: IpAddr,
}

/// Pods with different addresses; the first is of the namespace whose policies are evaluated.
fn pods() -> impl Strategy<Value = Vec<Pod>> {
    let pod = (prop::sample::select(vec!["db", "web"]), labels(), address());
    let pod = pod.prop_map(|(namespace, labels, address)| Pod { namespace, labels, address });
    prop::collection::vec(pod, 1..12).prop_map(|mut pods| {
        let mut addresses = BTreeSet::new();
        pods.retain(|pod| addresses.insert(pod.address));
        pods[0].namespace = "db";
        pods
    })
}

fn namespaces() -> impl Strategy<Value = BTreeMap<&'static str, BTreeMap<String, String>>> {
    (labels(), labels()).prop_map(|(db, web)| [("db", db), ("web", web)].into())
}

fn port() -> impl Strategy<Value = Value> {
    let protocol = prop::sample::select(vec![Value::Null, json!("TCP"), json!("UDP"), json!("SCTP"), json!("ICMP")]);
    let number = prop_oneof![
        4 => (0..9_i64).prop_map(Value::from),
        1 => Just(Value::Null),
        1 => Just(json!("http")),
        1 => Just(json!(65535)),
    ];
    let end = prop_oneof![3 => Just(Value::Null), 1 => (0..12_i64).prop_map(Value::from)];
    (protocol, number, end).prop_map(|(protocol, port, end)| {
        let fields = [("protocol", protocol), ("port", port), ("endPort", end)];
        fields.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.to_owned(), value)).collect()
    })
}

fn rule(peers: &'static str) -> impl Strategy<Value = Value> {
    let lists = (prop::collection::vec(peer(), 0..4), prop::collection::vec(port(), 0..4));
    lists.prop_map(move |(list, ports)| json!({peers: list, "ports": ports}))
}

fn policy() -> impl Strategy<Value = Value> {
    let types = prop::sample::select(vec![
        json!([]),
        json!(["Ingress"]),
        json!(["Egress"]),
        json!(["Ingress", "Egress"]),
        json!(["egress"]),
        json!(["Other"]),
    ]);
    let selector = prop_oneof![1 => Just(json!({})), 1 => selector()];
    let namespace = prop::sample::select(vec!["db", "db", "web"]);
    let rules = (prop::collection::vec(rule("from"), 0..3), prop::collection::vec(rule("to"), 0..3));
    (namespace, selector, types, rules).prop_map(|(namespace, selector, types, (ingress, egress))| {
        let spec = json!({"podSelector": selector, "policyTypes": types, "ingress": ingress, "egress": egress});
        json!({"metadata": {"name": "p", "namespace": namespace}, "spec": spec})
    })
}

/// A connection; protocol 1 has no ports.
fn connection() -> impl Strategy<Value = (IpAddr, IpAddr, u8, u16)> {
    let port = prop_oneof![6 => 0..10_u16, 1 => Just(65535)];
    (address(), address(), prop::sample::select(vec![1, 6, 17]), port)
}

/// The bits of a prefix from the left, and how many these are; `None` if the text is no prefix.
fn bits(text: &str) -> Option<(bool, u128, u32)> {
    let (address, length) = text.split_once('/')?;
    let length: u32 = length.parse().ok()?;
    let (is_ipv4, bits) = match address.parse().ok()? {
        IpAddr::V4(ip) => (true, u128::from(ip.to_bits()) << 96),
        IpAddr::V6(ip) => (false, ip.to_bits()),
    };
    (length <= if is_ipv4 { 32 } else { 128 }).then_some((is_ipv4, bits, length))
}

/// Whether one prefix contains another; `None` if either is no prefix.
fn contains(outer: &str, inner: &str) -> Option<bool> {
    let ((family, outer, length), (other, inner, longer)) = (bits(outer)?, bits(inner)?);
    let differing = (outer ^ inner).leading_zeros();
    Some(family == other && length <= longer && differing >= length)
}

/// Whether labels are those of a selector; `None` if it cannot be read.
fn labels_match(selector: &Value, labels: &BTreeMap<String, String>) -> Option<bool> {
    let equal = selector["matchLabels"].as_object().into_iter().flatten();
    let mut matches = equal.into_iter().all(|(key, value)| labels.get(key).map(String::as_str) == value.as_str());
    for requirement in selector["matchExpressions"].as_array().into_iter().flatten() {
        let value = labels.get(requirement["key"].as_str().unwrap()).map(String::as_str);
        let values: Vec<&str> =
            requirement["values"].as_array().into_iter().flatten().flat_map(Value::as_str).collect();
        let is_one = value.is_some_and(|value| values.contains(&value));
        matches &= match requirement["operator"].as_str().unwrap() {
            "In" if !values.is_empty() => is_one,
            "NotIn" if !values.is_empty() => !is_one,
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => return None,
        };
    }
    Some(matches)
}

/// What is known of all pods.
#[derive(Debug)]
struct Cluster {
    pods: Vec<Pod>,
    namespaces: BTreeMap<&'static str, BTreeMap<String, String>>,
}

impl Cluster {
    /// Whether a pod with this address is selected, as a peer of a policy of this namespace.
    fn is_selected(&self, peer: &Value, own: &str, address: IpAddr) -> bool {
        let Some(pod) = self.pods.iter().find(|pod| pod.address == address) else { return false };
        let in_namespace = match peer.get("namespaceSelector") {
            Some(selector) => labels_match(selector, &self.namespaces[pod.namespace]),
            None => Some(pod.namespace == own),
        };
        let is_pod = peer.get("podSelector").map_or(Some(true), |selector| labels_match(selector, &pod.labels));
        in_namespace.zip(is_pod) == Some((true, true))
    }
}

fn peer_matches(cluster: &Cluster, own: &str, peer: &Value, address: IpAddr) -> bool {
    let has = |field: &str| peer.get(field).is_some();
    let has_selector = has("podSelector") || has("namespaceSelector");
    if has_selector && !has("ipBlock") {
        return cluster.is_selected(peer, own, address);
    }
    if has_selector || !has("ipBlock") {
        return false;
    }
    let cidr = peer["ipBlock"]["cidr"].as_str().unwrap();
    let exceptions: Vec<&str> = peer["ipBlock"]["except"].as_array().unwrap().iter().flat_map(Value::as_str).collect();
    let address = format!("{address}/{}", if address.is_ipv4() { 32 } else { 128 });
    let is_valid = exceptions.iter().all(|exception| contains(cidr, exception) == Some(true));
    let is_excepted = || exceptions.iter().any(|exception| contains(exception, &address) == Some(true));
    is_valid && contains(cidr, &address) == Some(true) && !is_excepted()
}

fn port_matches(entry: &Value, protocol: u8, port: u16) -> bool {
    let of_protocol = match entry.get("protocol").map_or("TCP", |name| name.as_str().unwrap()) {
        "TCP" => 6,
        "UDP" => 17,
        _ => return false,
    };
    let end = entry.get("endPort").and_then(Value::as_i64);
    let is_in_range = match (entry.get("port"), end) {
        (None, None) => true,
        (None, Some(_)) => false,
        (Some(first), end) => first.as_i64().is_some_and(|first| {
            let last = end.unwrap_or(first);
            first > 0 && last <= 65535 && (first..=last).contains(&i64::from(port))
        }),
    };
    of_protocol == protocol && is_in_range
}

/// Whether policies allow a connection of the first pod, by what they say.
fn says(
    cluster: &Cluster,
    policies: &[Value],
    direction: Direction,
    (source, destination, protocol, port): (IpAddr, IpAddr, u8, u16),
) -> bool {
    let (kind, rules, peers, peer) = match direction {
        Direction::Ingress => ("Ingress", "ingress", "from", source),
        Direction::Egress => ("Egress", "egress", "to", destination),
    };
    let mut is_isolated = false;
    for policy in policies.iter().filter(|policy| policy["metadata"]["namespace"] == "db") {
        let spec = &policy["spec"];
        let types = spec["policyTypes"].as_array().unwrap();
        let is_default = types.is_empty() && (kind == "Ingress" || !spec["egress"].as_array().unwrap().is_empty());
        let is_named = types.iter().any(|name| name.as_str().unwrap().to_lowercase() == kind.to_lowercase());
        if !(is_default || is_named) {
            continue;
        }
        // One that cannot be read is for all pods, and allows nothing.
        let is_for = labels_match(&spec["podSelector"], &cluster.pods[0].labels);
        is_isolated |= is_for != Some(false);
        if is_for != Some(true) {
            continue;
        }
        let allows = |rule: &Value| {
            let (peers, ports) = (rule[peers].as_array().unwrap(), rule["ports"].as_array().unwrap());
            let has_peer = peers.is_empty() || peers.iter().any(|entry| peer_matches(cluster, "db", entry, peer));
            has_peer && (ports.is_empty() || ports.iter().any(|entry| port_matches(entry, protocol, port)))
        };
        if spec[rules].as_array().unwrap().iter().any(allows) {
            return true;
        }
    }
    !is_isolated
}

fn read_all(policies: &[Value]) -> Vec<ReadPolicy> {
    let read = |policy: &Value| {
        let mut policy = policy.clone();
        policy["apiVersion"] = json!("k8s.cni.cncf.io/v1beta1");
        policy["kind"] = json!("MultiNetworkPolicy");
        read(&serde_json::from_value::<MultiNetworkPolicy>(policy).unwrap())
    };
    policies.iter().map(read).collect()
}

/// The pods as nodes know them.
fn known(cluster: &Cluster, policies: &[ReadPolicy]) -> Vec<KnownPod> {
    let known = |pod: &Pod| {
        let mut class = PodClass::of_namespace(pod.namespace.parse().unwrap());
        for (id, selector) in policies.iter().flat_map(|policy| &policy.selectors) {
            let selects = selector.selects(&pod.labels, pod.namespace, &cluster.namespaces[pod.namespace]);
            let of = if selects { &mut class.selected_by } else { &mut class.not_selected_by };
            of.insert(*id);
        }
        KnownPod { class: Arc::new(class), addresses: [pod.address].into() }
    };
    cluster.pods.iter().map(known).collect()
}

/// What a policy allows, without rules that allow nothing.
fn without_empty_rules(mut policy: Policy) -> Policy {
    let allows = |rule: &PolicyRule| {
        let has_peer = rule.peers != PeerAddresses::Within([].into()) || !rule.peer_pods.is_empty();
        has_peer && rule.ports != DestinationPorts::Within([].into())
    };
    for rules in [&mut policy.ingress, &mut policy.egress].into_iter().flatten() {
        rules.retain(allows);
    }
    policy
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn policies_allow_what_they_say(
        policies in prop::collection::vec(policy(), 0..4),
        connections in prop::collection::vec(connection(), 64),
        pods in pods(),
        namespaces in namespaces(),
    ) {
        let cluster = Cluster { pods, namespaces };
        let read = read_all(&policies);
        let known = known(&cluster, &read);
        let (class, addresses) = (known[0].class.clone(), PodAddresses::of(&known));
        let compiled: Vec<Policy> = read.into_iter().filter_map(|policy| policy.policy).collect();
        prop_assert!(is_known(&compiled, &class));
        for connection in connections {
            let (source, destination, protocol, port) = connection;
            let port = match protocol {
                6 => Some((TransportProtocol::Tcp, port)),
                17 => Some((TransportProtocol::Udp, port)),
                _ => None,
            };
            for direction in Direction::ALL {
                let connection_of = Connection { source, destination, port };
                let found = is_allowed(&compiled, &class, direction, &connection_of, &addresses);
                let said = says(&cluster, &policies, direction, connection);
                prop_assert_eq!(found, said, "{:?} {:?}", direction, connection);
            }
        }
    }

    #[test]
    fn nodes_get_the_policy_that_was_compiled(policies in prop::collection::vec(policy(), 1..4)) {
        for policy in read_all(&policies).into_iter().filter_map(|policy| policy.policy) {
            let networks = ["blue", "red"].map(|name| name.parse().unwrap());
            let compiled = CompiledPolicySpec::new(networks.clone().into(), 3, policy.clone());
            let object = serde_json::to_value(CompiledPolicy::new(&compiled.object_name(), compiled.clone())).unwrap();
            prop_assert_eq!(rejected(&object, None), Vec::<String>::new());
            let received: CompiledPolicy = serde_json::from_value(object).unwrap();
            prop_assert_eq!(&received.spec, &compiled);
            let enforced = received.spec.policy();
            prop_assert_eq!(&enforced, &without_empty_rules(policy));
            prop_assert_eq!(CompiledPolicySpec::new(networks.into(), 3, enforced), compiled);
        }
    }
}
