use super::*;
use crate::desired::Desired;
use crate::observed::{BridgeMtu, ObservedBridge, Peer};
use crate::port::PortMark;
use crate::testing;
use std::collections::BTreeMap;
use usnet_crds::{MacLearning, VlanTag};

/// An attachment, and an engine that has its port as it should be.
fn as_wanted() -> (AttachmentId, DesiredAttachment, Observed) {
    let network = testing::network("blue");
    let record = testing::record("c1", &network);
    let port = ObservedPort {
        mark: Some(PortMark::new(&network.name, &record.id)),
        connection: Some(record.port.connection.clone()),
        mtu: Some(record.port.settings.mtu.into()),
        tagging: Tagging::Untagged,
        rate_limit: Some(record.port.settings.rate_limit),
        is_enabled: true,
        peer: Peer::Absent,
        state: ElementState::Running,
    };
    let bridge = ObservedBridge {
        mark: Some(network.name.clone()),
        is_our_kind: true,
        unusable: None,
        mtu: BridgeMtu::Set(1500),
        mac_learning: MacLearning::Enabled,
        mac_age_seconds: None,
        state: ElementState::Running,
        ports: BTreeMap::from([(record.port.name.clone(), port)]),
    };
    let bridges = BTreeMap::from([(network.bridge.name.to_string(), bridge)]);
    let mut desired = Desired::new([network], [&record]);
    let wanted = desired.attachments.remove(&record.id).unwrap();
    (record.id, wanted, Observed { bridges, loose: BTreeMap::new() })
}

/// What is said when one thing of the port is not as it should be.
fn said_of(change: impl FnOnce(&mut ObservedPort)) -> String {
    let (id, wanted, mut observed) = as_wanted();
    change(observed.bridges.values_mut().flat_map(|bridge| bridge.ports.values_mut()).next().unwrap());
    differences(&id, &wanted, &observed).join("; ")
}

#[test]
fn a_port_as_it_should_be_is_not_worth_a_word() {
    assert_eq!(said_of(|_| {}), "");
}

#[test]
fn each_difference_is_told_with_what_is_and_what_should_be() {
    let tag = |tag| Tagging::Vlan(usnet_crds::Vlan::Access { tag: VlanTag::try_from(tag).unwrap() });
    for (said, parts) in [
        (said_of(|port| port.mtu = Some(9000)), ["the MTU", "is 9000 and should be 1500"]),
        (said_of(|port| port.mtu = None), ["the MTU", "is unset and should be 1500"]),
        (said_of(|port| port.tagging = tag(7)), ["the VLAN", "is VLAN 7 and should be none"]),
        (said_of(|port| port.tagging = Tagging::Other), ["the VLAN", "usnet does not set"]),
        (said_of(|port| port.rate_limit = None), ["the rate limit", "should be no rate limit"]),
        (said_of(|port| port.connection = None), ["the pod's end", "/c1/net1.sock (vhost-user, the engine connects)"]),
        (
            said_of(|port| port.connection = Some(testing::connection("c2"))),
            ["the pod's end", "is /run/usnet/ports/c2"],
        ),
        (said_of(|port| port.is_enabled = false), ["port", "switched off"]),
        (said_of(|port| port.state = ElementState::Failed("no memory".to_owned())), ["cannot run", "no memory"]),
        (said_of(|port| port.state = ElementState::Pending), ["does not run", "yet"]),
        (said_of(|port| port.mark = None), ["no port of it", "on bridge"]),
    ] {
        assert!(parts.iter().all(|part| said.contains(part)) && !said.contains(';'), "{parts:?}: {said}");
    }
}

#[test]
fn a_port_elsewhere_is_told_with_where_it_is() {
    let (id, wanted, mut observed) = as_wanted();
    let bridge = observed.bridges.remove(wanted.port.bridge.as_str()).unwrap();
    let loose = Observed { loose: bridge.ports.clone(), ..Observed::default() };
    assert!(differences(&id, &wanted, &loose).concat().contains("is none and should be"));
    let moved = Observed { bridges: BTreeMap::from([("br-other".to_owned(), bridge)]), loose: BTreeMap::new() };
    assert!(differences(&id, &wanted, &moved).concat().contains("is br-other and should be"));
}
