use super::*;
use crate::engine::ovs::PortOwner;
use crate::engine::ovs::policy::limits::{RULES_OF_MATCH_MAX, TooLarge};
use crate::testing::attachment;
use std::sync::Arc;
use usnet_crds::policy::Policy;
use usnet_crds::policy::pods::{KnownPod, KnownPods, PodClass, SelectorId};
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
    let ingress = Some(vec![PolicyRule { peers, peer_pods: BTreeSet::new(), ports: DestinationPorts::Any }]);
    let policy = Policy { namespace: "db".parse().unwrap(), name: "p".to_owned(), pods: None, ingress, egress: None };
    let owners = (1..20).map(|number| (attachment(&format!("c{number}")), owner("db", number))).collect();
    NetworkPolicies { zone: 65_535, policies: [policy].into(), pods: Arc::default(), owners }
}

fn owner(namespace: &str, number: u16) -> PortOwner {
    PortOwner { namespace: namespace.parse().unwrap(), uid: format!("uid-{number}") }
}

/// The flows and groups of a bridge after these changes.
fn applied(flows: &BridgeFlows, changes: &[Change]) -> (Vec<Flow>, Vec<Group>) {
    let (mut all, mut groups) = (flows.all(), flows.groups());
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
    let unknown = NetworkPolicies { owners: BTreeMap::new(), ..one.clone() };
    let all = [&one, &other, &other_zone, &unknown]
        .map(|policies| [1, 9, 10].map(|last| BridgeFlows::new(ports(last), Some(policies.clone()))));
    let all = all.concat();
    for before in &all {
        for after in &all {
            let again = before.after(after.ports.clone(), after.policies.clone());
            assert!(again == *after && again.are_for(&after.ports, after.policies.as_ref()));
            let changes = after.changes_since(before, &after.changed_ports(before));
            assert_eq!(applied(before, &changes), applied(after, &[]));
            assert_eq!(changes.is_empty(), before == after);
        }
    }
    let [_, nine, ten, ..] = all.as_slice() else { panic!() };
    let flows = ten
        .changes_since(nine, &ten.changed_ports(nine))
        .into_iter()
        .filter(|change| matches!(change, Change::Flow(_)))
        .count();
    assert!(flows < 25, "{flows} of {}", ten.all().len());
}

/// Policies of a namespace, with more rules than a match can be a part of.
fn too_many(namespace: &str) -> Policy {
    let rule = |number: usize| {
        let peer = std::net::Ipv4Addr::from(u32::try_from(number).unwrap());
        let peers = PeerAddresses::Within([std::net::IpAddr::V4(peer).into()].into());
        PolicyRule { peers, peer_pods: BTreeSet::new(), ports: DestinationPorts::Any }
    };
    let ingress = Some((0..=RULES_OF_MATCH_MAX).map(rule).collect());
    Policy { namespace: namespace.parse().unwrap(), name: "p".to_owned(), pods: None, ingress, egress: None }
}

#[test]
fn policies_that_are_too_large_close_the_ports_of_their_namespace_and_of_no_other() {
    let known = policies(&["10.1.0.0/16"]);
    let mut large = known.clone();
    large.policies = known.policies.iter().cloned().chain([too_many("web")]).collect();
    let of_web = attachment("c2");
    large.owners.insert(of_web.clone(), owner("web", 2));
    let flows = BridgeFlows::new(ports(2), Some(large.clone()));
    let closed = flows.too_large().unwrap();
    assert_eq!(closed.why, TooLarge::RulesOfMatch(RULES_OF_MATCH_MAX + 1));
    assert_eq!(closed.namespaces, Some(["web".parse().unwrap()].into()));
    let mut without = known;
    without.owners.remove(&of_web);
    assert_eq!(applied(&flows, &[]), applied(&BridgeFlows::new(ports(2), Some(without)), &[]));
}

#[test]
fn policies_of_many_namespaces_that_are_too_large_close_all_ports() {
    let mut large = policies(&["10.1.0.0/16"]);
    let names: Vec<String> = (0..10).map(|number| format!("web-{number}")).collect();
    large.policies = names.iter().map(|name| too_many(name)).collect();
    // Without pods of theirs on the node they need no flow.
    let ids = (1..=10).map(|number| attachment(&format!("c{number}")));
    large.owners = ids.zip(names.iter().map(|name| owner(name, 1))).collect();
    let flows = BridgeFlows::new(ports(10), Some(large.clone()));
    assert_eq!(flows.too_large().unwrap().namespaces, None);
    let closed = NetworkPolicies { policies: [].into(), owners: BTreeMap::new(), ..large };
    assert_eq!(applied(&flows, &[]), applied(&BridgeFlows::new(ports(10), Some(closed)), &[]));
    assert_eq!(flows.flooded(false).len(), 10);
}

const SERVERS: SelectorId = SelectorId::new(1);
const CLIENTS: SelectorId = SelectorId::new(2);

/// A policy by which the servers of `db` are reached by clients alone.
fn of_servers() -> Policy {
    let peers = PeerAddresses::Within(BTreeSet::new());
    let rule = PolicyRule { peers, peer_pods: [CLIENTS].into(), ports: DestinationPorts::Any };
    let (namespace, ingress) = ("db".parse().unwrap(), Some(vec![rule]));
    Policy { namespace, name: "servers".to_owned(), pods: Some(SERVERS), ingress, egress: None }
}

/// The pods `uid-NUMBER` with their addresses, and which of the two selectors select them.
fn pods(known: &[(u16, &str, [Option<bool>; 2])]) -> Arc<KnownPods> {
    let pod = |(number, address, selected): &(u16, &str, [Option<bool>; 2])| {
        let of = |value| {
            let all = [SERVERS, CLIENTS].into_iter().zip(selected);
            all.filter(|(_, selected)| **selected == Some(value)).map(|(id, _)| id).collect()
        };
        let class = PodClass { namespace: "db".parse().unwrap(), selected_by: of(true), not_selected_by: of(false) };
        let addresses = [address.parse().unwrap()].into();
        (format!("uid-{number}"), KnownPod { class: Arc::new(class), addresses })
    };
    Arc::new(known.iter().map(pod).collect())
}

fn flows_with(known: &[(u16, &str, [Option<bool>; 2])]) -> BridgeFlows {
    let policies = NetworkPolicies { policies: [of_servers()].into(), pods: pods(known), ..policies(&[]) };
    BridgeFlows::new(ports(3), Some(policies))
}

/// The numbers of ports to which nothing is flooded, and the addresses of peers.
fn restricted(flows: &BridgeFlows) -> (Vec<u16>, Vec<String>) {
    let unflooded = flows.flooded(false).into_keys().map(PortNumber::number).collect();
    let peers = flows.all().into_iter().filter(|flow| flow.table == 21 && flow.priority > 0);
    let address = |flow: Flow| match flow.matches.payload {
        usnet_openflow::flow::Payload::Ipv4(ipv4) => format!("{:?}", ipv4.original.src.unwrap()),
        other => format!("{other:?}"),
    };
    (unflooded, peers.map(address).collect())
}

/// Port 1 is a server, port 2 is not known, and port 3 is no server.
#[test]
fn a_port_is_closed_while_it_is_not_known_which_policies_are_for_its_pod() {
    let (yes, no) = (Some(true), Some(false));
    let flows = flows_with(&[(1, "10.9.0.1", [yes, no]), (3, "10.9.0.3", [no, yes]), (9, "10.9.0.9", [no, yes])]);
    let closed = |flows: &BridgeFlows, number: u16| {
        let drops =
            |flow: &Flow| flow.table == 10 && flow.priority == 200 && flow.action == usnet_openflow::flow::Action::Drop;
        flows.all().into_iter().filter(drops).any(|flow| flow.matches.in_port == PortNumber::new(number))
    };
    assert_eq!([1, 2, 3].map(|number| closed(&flows, number)), [false, true, false]);
    let (unflooded, peers) = restricted(&flows);
    assert_eq!((unflooded, peers.len()), (vec![1, 2], 2), "the server and the unknown one; both clients: {peers:?}");
    let known = flows_with(&[(1, "10.9.0.1", [yes, no]), (2, "10.9.0.2", [no, no]), (3, "10.9.0.3", [no, no])]);
    assert_eq!(restricted(&known), (vec![1], vec![]), "no client is there");
    let undecided = flows_with(&[(1, "10.9.0.1", [None, no]), (2, "10.9.0.2", [yes, no])]);
    assert_eq!([1, 2, 3].map(|number| closed(&undecided, number)), [true, false, true]);
}

/// What is known of another pod with the address of a port of this node is outdated.
#[test]
fn an_address_of_a_port_is_its_pods_alone() {
    let (yes, no) = (Some(true), Some(false));
    let server = (1, "10.9.0.1", [yes, no]);
    let peers = |known: &[(u16, &str, [Option<bool>; 2])]| restricted(&flows_with(known)).1.len();
    assert_eq!(peers(&[server, (3, "10.9.0.3", [no, yes])]), 1);
    assert_eq!(peers(&[server, (3, "10.9.0.9", [no, yes])]), 1, "the other address is its own too");
    assert_eq!(peers(&[server, (9, "10.9.0.3", [no, yes])]), 0, "of a former pod");
    assert_eq!(peers(&[server, (3, "10.9.0.3", [no, no]), (9, "10.9.0.3", [no, yes])]), 0);
    assert_eq!(peers(&[server, (8, "10.9.0.8", [no, no]), (9, "10.9.0.8", [no, yes])]), 0, "of two pods");
    let of_other_namespace = |namespace: &str| {
        let mut policies = NetworkPolicies { policies: [of_servers()].into(), pods: pods(&[server]), ..policies(&[]) };
        policies.owners = [(attachment("c1"), owner(namespace, 1))].into();
        BridgeFlows::new(ports(1), Some(policies)).flooded(false).len()
    };
    assert_eq!((of_other_namespace("db"), of_other_namespace("web")), (1, 0), "the class is for another namespace");
}

/// What is known of pods changes, and nothing else: only these pods are looked at.
#[test]
fn flows_after_other_pods_are_those_that_are_compiled_alone() {
    let (yes, no) = (Some(true), Some(false));
    let policies = NetworkPolicies { policies: [of_servers()].into(), ..policies(&[]) };
    let states = [
        vec![],
        vec![(1, "10.9.0.1", [yes, no]), (3, "10.9.0.3", [no, yes])],
        vec![(1, "10.9.0.1", [yes, no]), (3, "10.9.0.3", [no, yes]), (9, "10.9.0.9", [no, yes])],
        vec![(1, "10.9.0.1", [yes, no]), (3, "10.9.0.3", [no, yes]), (9, "10.9.0.3", [no, yes])],
        vec![(1, "10.9.0.1", [no, no]), (2, "10.9.0.2", [yes, yes]), (9, "10.9.0.9", [yes, no])],
        vec![(2, "10.9.0.2", [None, yes]), (8, "10.9.0.8", [no, no]), (9, "10.9.0.8", [no, yes])],
        vec![(2, "10.9.0.9", [yes, yes]), (8, "10.9.0.8", [no, yes]), (9, "10.9.0.2", [no, yes])],
    ];
    let with = |known: &Vec<_>| NetworkPolicies { pods: pods(known), ..policies.clone() };
    for before in &states {
        let former = BridgeFlows::new(ports(3), Some(with(before)));
        for known in &states {
            let after = former.after(ports(3), Some(with(known)));
            assert!(former.pods_after(&ports(3), &with(known)).is_some());
            assert_eq!(after, BridgeFlows::new(ports(3), Some(with(known))), "{before:?} {known:?}");
        }
    }
    let others = NetworkPolicies { owners: BTreeMap::new(), ..policies.clone() };
    let former = BridgeFlows::new(ports(3), Some(policies));
    assert!(former.pods_after(&ports(2), &others).is_none() && former.pods_after(&ports(3), &others).is_none());
}
