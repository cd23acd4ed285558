use super::*;
use crate::engine::ovs::policy::limits::{RULES_OF_MATCH_MAX, TooLarge};
use crate::testing::attachment;
use usnet_crds::policy::Policy;
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule};

fn ports(last: u16) -> GuardedPorts {
    let pod = |number: u16| FrameSource::Pod {
        guard: format!("02:00:00:00:00:{number:02x} 10.9.0.{number}").parse().unwrap(),
        is_trunk: false,
        is_in_vlan: false,
        attachment: attachment(&format!("c{number}")),
    };
    let pods = (1..=last).map(|number| (PortNumber::new(number).unwrap(), pod(number)));
    pods.chain([(PortNumber::LOCAL, FrameSource::Network)]).collect()
}

fn policies(peers: &[&str]) -> NetworkPolicies {
    let peers = PeerAddresses::Within(peers.iter().map(|peer| peer.parse().unwrap()).collect());
    let ingress = Some(vec![PolicyRule { peers, ports: DestinationPorts::Any }]);
    let policy = Policy { namespace: "db".parse().unwrap(), name: "p".to_owned(), ingress, egress: None };
    let namespaces = (1..20).map(|number| (attachment(&format!("c{number}")), "db".parse().unwrap())).collect();
    NetworkPolicies { zone: 65_535, policies: [policy].into(), namespaces }
}

/// The flows and groups of a bridge after these changes.
fn applied(flows: &BridgeFlows, changes: &[Change]) -> (Vec<Flow>, Vec<Group>) {
    let (mut all, mut groups) = (flows.all(), flows.groups().to_vec());
    for change in changes {
        match change {
            Change::Group(GroupMod::Set(group)) => {
                groups.retain(|other| other.id != group.id);
                groups.push(group.clone());
            }
            Change::Group(GroupMod::Delete(id)) => groups.retain(|group| group.id != *id),
            Change::Flow(FlowMod::Delete(matches)) => all.retain(|flow| flow.matches.in_port != matches.in_port),
            Change::Flow(FlowMod::DeleteCookies(_)) => panic!("{change:?}"),
            Change::Flow(FlowMod::DeleteStrict { table, priority, matches }) => all
                .retain(|flow| (flow.table, flow.priority) != (*table, *priority) || flow.matches.encode() != *matches),
            Change::Flow(FlowMod::Add(flow)) => {
                let is_same = |other: &Flow| {
                    (other.table, other.priority, &other.matches) == (flow.table, flow.priority, &flow.matches)
                };
                all.retain(|other| !is_same(other));
                all.push(flow.clone());
            }
        }
    }
    all.sort_by_key(|flow| (flow.table, flow.priority, flow.cookie));
    groups.sort();
    (all, groups)
}

#[test]
fn changes_make_of_flows_those_that_are_desired_and_a_port_more_changes_few() {
    let [one, other] = [&["10.1.0.0/16"][..], &["10.2.0.0/16", "10.1.0.0/16"]].map(policies);
    let other_zone = NetworkPolicies { zone: 7, ..one.clone() };
    let unknown = NetworkPolicies { namespaces: BTreeMap::new(), ..one.clone() };
    let all = [&one, &other, &other_zone, &unknown]
        .map(|policies| [1, 9, 10].map(|last| BridgeFlows::new(ports(last), Some(policies.clone()))));
    let all = all.concat();
    for before in &all {
        for after in &all {
            let changes = after.changes_since(before);
            assert_eq!(applied(before, &changes), applied(after, &[]));
            assert_eq!(changes.is_empty(), before == after);
        }
    }
    let [_, nine, ten, ..] = all.as_slice() else { panic!() };
    let flows = ten.changes_since(nine).into_iter().filter(|change| matches!(change, Change::Flow(_))).count();
    assert!(flows < 25, "{flows} of {}", ten.all().len());
}

/// Policies of a namespace, with more rules than a match can be a part of.
fn too_many(namespace: &str) -> Policy {
    let rule = |number: usize| {
        let peer = std::net::Ipv4Addr::from(u32::try_from(number).unwrap());
        let peers = PeerAddresses::Within([std::net::IpAddr::V4(peer).into()].into());
        PolicyRule { peers, ports: DestinationPorts::Any }
    };
    let ingress = Some((0..=RULES_OF_MATCH_MAX).map(rule).collect());
    Policy { namespace: namespace.parse().unwrap(), name: "p".to_owned(), ingress, egress: None }
}

#[test]
fn policies_that_are_too_large_close_the_ports_of_their_namespace_and_of_no_other() {
    let known = policies(&["10.1.0.0/16"]);
    let mut large = known.clone();
    large.policies = known.policies.iter().cloned().chain([too_many("web")]).collect();
    let of_web = attachment("c2");
    large.namespaces.insert(of_web.clone(), "web".parse().unwrap());
    let flows = BridgeFlows::new(ports(2), Some(large.clone()));
    let closed = flows.too_large().unwrap();
    assert_eq!(closed.why, TooLarge::RulesOfMatch(RULES_OF_MATCH_MAX + 1));
    assert_eq!(closed.namespaces, Some(["web".parse().unwrap()].into()));
    let mut without = known;
    without.namespaces.remove(&of_web);
    assert_eq!(applied(&flows, &[]), applied(&BridgeFlows::new(ports(2), Some(without)), &[]));
}

#[test]
fn policies_of_many_namespaces_that_are_too_large_close_all_ports() {
    let mut large = policies(&["10.1.0.0/16"]);
    let names: Vec<String> = (0..10).map(|number| format!("web-{number}")).collect();
    large.policies = names.iter().map(|name| too_many(name)).collect();
    // Without pods of theirs on the node they need no flow.
    let ids = (1..=10).map(|number| attachment(&format!("c{number}")));
    large.namespaces = ids.zip(names.iter().map(|name| name.parse().unwrap())).collect();
    let flows = BridgeFlows::new(ports(10), Some(large.clone()));
    assert_eq!(flows.too_large().unwrap().namespaces, None);
    let closed = NetworkPolicies { policies: [].into(), namespaces: BTreeMap::new(), ..large };
    assert_eq!(applied(&flows, &[]), applied(&BridgeFlows::new(ports(10), Some(closed)), &[]));
    assert_eq!(flows.flooded(false).len(), 10);
}
