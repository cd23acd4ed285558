use super::*;
use crate::links::owner::LinkOwner;
use crate::links::pair::{ObservedEnd, PairEnd};
use crate::model::port::DeviceName;
use std::collections::BTreeSet;
use usnet_crds::EngineKind::{self, OpenVswitch, Vpp};
use usnet_crds::{Mtu, NetworkName};

fn name(text: &str) -> NetworkName {
    text.parse().unwrap()
}

fn access(engine: EngineKind, address: &str) -> DesiredNodeAccess {
    DesiredNodeAccess { engine, addresses: [address.parse().unwrap()].into(), mtu: Mtu::default() }
}

fn desired(networks: &[(&str, EngineKind, &str)]) -> NodeAccesses {
    networks.iter().map(|(network, engine, address)| (name(network), access(*engine, address))).collect()
}

/// A node on which these networks have what they should have.
fn observed(accesses: &NodeAccesses) -> ObservedNodeAccess {
    let mut observed = ObservedNodeAccess { may_change: true, ..ObservedNodeAccess::default() };
    for (network, access) in accesses {
        for end in [PairEnd::Node, PairEnd::Access] {
            let index = u32::try_from(observed.ends.len()).unwrap() + 1;
            let owner = LinkOwner::new(access.engine, network);
            let (name, mtu) = (end.device(network), access.mtu.get().into());
            let found = ObservedEnd { owner, end, name, mtu, is_up: true, splits_packets: true, is_strict: true };
            observed.ends.insert(index, found);
            if end == PairEnd::Node {
                observed.addresses.insert(index, access.addresses.clone());
            }
        }
    }
    observed
}

fn texts(operations: &[NodeAccessOp]) -> Vec<String> {
    operations.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_right_is_left_and_what_differs_is_made_again() {
    let wanted = desired(&[("blue", OpenVswitch, "10.1.0.1/24"), ("red", Vpp, "10.2.0.1/24")]);
    let right = observed(&wanted);
    assert_eq!(diff(OpenVswitch, &wanted, &right), []);
    assert_eq!(joinable(OpenVswitch, &wanted, &right), [(name("blue"), 2)].into());
    let create =
        format!("give the node 10.1.0.1/24 in network blue, on device {}", DeviceName::of_node_end(&name("blue")));
    let nothing = ObservedNodeAccess { may_change: true, ..ObservedNodeAccess::default() };
    assert_eq!(texts(&diff(OpenVswitch, &wanted, &nothing)), [create.as_str()]);
    let broken = |change: &dyn Fn(&mut ObservedNodeAccess)| {
        let mut broken = right.clone();
        change(&mut broken);
        assert_eq!(joinable(OpenVswitch, &wanted, &broken), [].into());
        texts(&diff(OpenVswitch, &wanted, &broken))
    };
    let end = |index: u32, change: fn(&mut ObservedEnd)| {
        broken(&move |observed| change(observed.ends.get_mut(&index).unwrap()))
    };
    for index in [1, 2] {
        assert_eq!(end(index, |end| end.is_up = false), [create.as_str()]);
        assert_eq!(end(index, |end| end.mtu = 9000), [create.as_str()]);
    }
    assert_eq!(end(1, |end| end.is_strict = false), [create.as_str()]);
    assert_eq!(broken(&|observed| observed.addresses.clear()), [create.as_str()]);
    assert_eq!(broken(&|observed| drop(observed.ends.remove(&1))), [create.as_str()]);
}

#[test]
fn a_pair_of_no_network_goes_by_the_end_of_its_engine_and_a_renamed_end_goes_too() {
    let both = desired(&[("blue", OpenVswitch, "10.1.0.1/24"), ("red", Vpp, "10.2.0.1/24")]);
    let found = observed(&both);
    let device = |end: PairEnd| end.device(&name("blue"));
    let delete = |end| format!("delete device {} of network blue", device(end));
    let none = NodeAccesses::new();
    assert_eq!(texts(&diff(OpenVswitch, &none, &found)), [delete(PairEnd::Access)]);
    let mut alone = found.clone();
    alone.ends.remove(&2);
    assert_eq!(texts(&diff(OpenVswitch, &none, &alone)), [delete(PairEnd::Node)]);
    let mut renamed = found;
    renamed.ends.get_mut(&2).unwrap().name = DeviceName::observed("eth9");
    let operations = texts(&diff(OpenVswitch, &both, &renamed));
    assert!(operations[0].starts_with("give the node"), "{operations:?}");
    assert_eq!(operations[1], "delete device eth9 of network blue");
}

#[test]
fn a_subnet_of_others_blocks_and_changes_nothing() {
    let wanted = desired(&[("blue", OpenVswitch, "10.1.0.1/24"), ("red", Vpp, "10.1.0.1/16")]);
    let route = Route { destination: "10.1.0.128/25".parse().unwrap(), device: "eth0".to_owned() };
    let routed = ObservedNodeAccess {
        may_change: true,
        routes: BTreeSet::from([route.clone()]),
        ..ObservedNodeAccess::default()
    };
    let subnet = "10.1.0.0/24".parse().unwrap();
    let of_route = NodeAccessBlocker::SubnetRouted { subnet, route };
    assert_eq!(blockers(OpenVswitch, &wanted, &routed), [(name("blue"), of_route)].into());
    assert_eq!(diff(OpenVswitch, &wanted, &routed), []);

    let nothing = ObservedNodeAccess { may_change: true, ..ObservedNodeAccess::default() };
    assert_eq!(blockers(OpenVswitch, &wanted, &nothing), [].into(), "the first by name");
    let red = "10.1.0.0/16".parse().unwrap();
    let of_blue = NodeAccessBlocker::SubnetOfNetwork { subnet: red, network: name("blue") };
    assert_eq!(blockers(Vpp, &wanted, &nothing), [(name("red"), of_blue)].into(), "also of the other engine");
    let has_red = observed(&desired(&[("red", Vpp, "10.1.0.1/16")]));
    assert_eq!(blockers(Vpp, &wanted, &has_red), [].into(), "it stays where it is");
    assert_eq!(blockers(OpenVswitch, &wanted, &has_red).len(), 1);
    let may_not = ObservedNodeAccess::default();
    let missing = NodeAccessBlocker::MissingPrivilege;
    assert_eq!(blockers(OpenVswitch, &wanted, &may_not), [(name("blue"), missing)].into());
    assert_eq!(diff(OpenVswitch, &wanted, &may_not), []);
}
