//! Random policies, as they are read and evaluated, against what their JSON says word by word: with
//! other code for prefixes, ports and defaults.

use crate::support::rejected;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use usnet_crds::compiled_policy::spec::CompiledPolicySpec;
use usnet_crds::multi_network_policy::read::read;
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, TransportProtocol};
use usnet_crds::policy::verdict::{Connection, is_allowed};
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
    let others = [
        json!({}),
        json!({"podSelector": {}}),
        json!({"podSelector": {"matchLabels": {"a": "b"}}, "namespaceSelector": {}}),
        json!({"namespaceSelector": {}, "ipBlock": {"cidr": "0.0.0.0/0"}}),
    ];
    prop_oneof![6 => of_block, 1 => prop::sample::select(others.to_vec())]
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
    let selector = prop_oneof![8 => Just(json!({})), 1 => Just(json!({"matchLabels": {"a": "b"}}))];
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

fn peer_matches(peer: &Value, address: IpAddr) -> bool {
    let has = |field: &str| peer.get(field).is_some();
    if has("podSelector") || has("namespaceSelector") || !has("ipBlock") {
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

/// Whether policies allow a connection, by what they say.
fn says(
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
        is_isolated = true;
        // Pods cannot be distinguished.
        if spec["podSelector"] != json!({}) {
            continue;
        }
        let allows = |rule: &Value| {
            let (peers, ports) = (rule[peers].as_array().unwrap(), rule["ports"].as_array().unwrap());
            let has_peer = peers.is_empty() || peers.iter().any(|entry| peer_matches(entry, peer));
            has_peer && (ports.is_empty() || ports.iter().any(|entry| port_matches(entry, protocol, port)))
        };
        if spec[rules].as_array().unwrap().iter().any(allows) {
            return true;
        }
    }
    !is_isolated
}

fn read_all(policies: &[Value]) -> Vec<Policy> {
    let read = |policy: &Value| {
        let mut policy = policy.clone();
        policy["apiVersion"] = json!("k8s.cni.cncf.io/v1beta1");
        policy["kind"] = json!("MultiNetworkPolicy");
        read(&serde_json::from_value::<MultiNetworkPolicy>(policy).unwrap()).policy
    };
    policies.iter().filter_map(read).collect()
}

/// What a policy allows, without rules that allow nothing.
fn without_empty_rules(mut policy: Policy) -> Policy {
    let allows = |rule: &PolicyRule| {
        rule.peers != PeerAddresses::Within([].into()) && rule.ports != DestinationPorts::Within([].into())
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
    ) {
        let compiled = read_all(&policies);
        for connection in connections {
            let (source, destination, protocol, port) = connection;
            let port = match protocol {
                6 => Some((TransportProtocol::Tcp, port)),
                17 => Some((TransportProtocol::Udp, port)),
                _ => None,
            };
            for direction in Direction::ALL {
                let found = is_allowed(&compiled, "db", direction, &Connection { source, destination, port });
                prop_assert_eq!(found, says(&policies, direction, connection), "{:?} {:?}", direction, connection);
            }
        }
    }

    #[test]
    fn nodes_get_the_policy_that_was_compiled(policies in prop::collection::vec(policy(), 1..4)) {
        for policy in read_all(&policies) {
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
