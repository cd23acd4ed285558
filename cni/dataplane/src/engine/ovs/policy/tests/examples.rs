//! Numbers of flows, and bridges without isolated ports.

use super::random::{mac_address, number};
use crate::engine::ovs::policy::{BridgePolicies, PolicyFlows, PolicyPort, PolicyPortState, compile};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::policy::Policy;
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, PortRange, TransportProtocol};
use usnet_openflow::PortNumber;
use usnet_openflow::flow::Group;

fn many(count: u16) -> BTreeMap<PortNumber, PolicyPort> {
    let port = |place: u16| {
        let [high, low] = place.to_be_bytes();
        let mac = mac_address([2, 0, 0, 0, high, low]);
        let state = PolicyPortState::of_namespace("a".parse().unwrap());
        (number(place), PolicyPort { mac, virtual_macs: BTreeSet::new(), state })
    };
    (1..=count).map(port).collect()
}

fn policy(place: u16) -> Policy {
    let range = PortRange { protocol: TransportProtocol::Tcp, first: place, last: place };
    let rule = PolicyRule {
        peers: PeerAddresses::Within([format!("10.{}.0.0/16", place % 200).parse().unwrap()].into()),
        peer_pods: BTreeSet::new(),
        ports: DestinationPorts::Within([range].into()),
    };
    Policy {
        namespace: "a".parse().unwrap(),
        name: format!("p{place}"),
        pods: None,
        ingress: Some(vec![rule]),
        egress: None,
    }
}

fn compiled(policies: &Arc<[Policy]>, ports: BTreeMap<PortNumber, PolicyPort>) -> PolicyFlows {
    let (ports, peers) = (&Arc::new(ports), &Arc::default());
    compile(&BridgePolicies { zone: 1, policies, ports, peers }).unwrap()
}

#[test]
fn flows_grow_with_ports_and_rules_and_not_with_their_product() {
    let count = |ports: u16, policies: u16| {
        let policies: Arc<[Policy]> = (1..=policies).map(policy).collect();
        compiled(&policies, many(ports))
    };
    let base = count(100, 100).flows.len();
    let more_ports = count(200, 100).flows.len() - base;
    let more_policies = count(100, 200).flows.len() - base;
    assert_eq!((more_ports, more_policies), (800, 300), "{base}");
    let largest = count(1500, 1);
    assert_eq!(largest.groups.len(), 4, "ids of groups whose messages are short enough");
    assert!(largest.groups.iter().all(|group| group.buckets.len() <= Group::BUCKETS_MAX));
}

#[test]
fn a_bridge_without_isolated_ports_forwards_all() {
    let desired = compiled(&[].into(), many(3));
    assert!(desired.unflooded.is_empty());
    let other = Policy { namespace: "z".parse().unwrap(), ..policy(1) };
    let of_others = compiled(&[other].into(), many(3));
    assert_eq!(of_others, desired, "policies of namespaces without ports are no flows");
}
