use super::*;
use crate::model::desired::Desired;
use crate::model::observed::{ObservedBridge, Peer};
use crate::model::owner::PortOwner;
use crate::testing;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::VlanTag;

/// An attachment, and an engine that has its port as it should be.
fn in_sync() -> (AttachmentId, DesiredAttachment, Observed) {
    let network = testing::network("blue");
    let record = testing::record("c1", &network);
    let port = ObservedPort {
        owner: Some(PortOwner::new(&network.name, &record.id)),
        backend: Some(record.port.backend.clone()),
        patch_peer: None,
        tunnel: None,
        mtu: Some(record.port.settings.mtu.into()),
        routed: BTreeSet::new(),
        tagging: Tagging::Untagged,
        rate_limit: Some(record.port.settings.rate_limit),
        is_enabled: true,
        peer: Peer::Absent,
        state: ElementState::Running,
    };
    let bridge = ObservedBridge {
        owner: Some(network.name.clone()),
        uplink: None,
        has_supported_datapath: true,
        adoption_blocker: None,
        settings: (&network.bridge).into(),
        state: ElementState::Running,
        ports: BTreeMap::from([(record.port.name.clone(), port)]),
    };
    let bridges = BTreeMap::from([(network.bridge.name.to_string(), bridge)]);
    let mut desired = Desired::new([network], [&record]);
    let expected = desired.attachments.remove(&record.id).unwrap();
    (record.id, expected, Observed { bridges, ..Observed::default() })
}

/// The report when one property of the port differs.
fn report_for(change: impl FnOnce(&mut ObservedPort)) -> String {
    let (id, expected, mut observed) = in_sync();
    change(observed.bridges.values_mut().flat_map(|bridge| bridge.ports.values_mut()).next().unwrap());
    describe_drift(&id, &expected, &observed).join("; ")
}

#[test]
fn a_port_without_drift_is_not_reported() {
    assert_eq!(report_for(|_| {}), "");
}

#[test]
fn each_difference_is_reported_with_both_values() {
    let tag = |tag| Tagging::Vlan(usnet_crds::Vlan::Access { tag: VlanTag::try_from(tag).unwrap() });
    for (said, parts) in [
        (report_for(|port| port.mtu = Some(9000)), ["the MTU", "is 9000 and should be 1500"]),
        (report_for(|port| port.mtu = None), ["the MTU", "is unset and should be 1500"]),
        (report_for(|port| port.tagging = tag(7)), ["the VLAN", "is VLAN 7 and should be none"]),
        (report_for(|port| port.tagging = Tagging::Other), ["the VLAN", "usnet does not set"]),
        (report_for(|port| port.rate_limit = None), ["the rate limit", "should be no rate limit"]),
        (report_for(|port| port.backend = None), ["the endpoint", "/c1/net1.sock (vhost-user, the engine connects)"]),
        (report_for(|port| port.backend = Some(testing::backend("c2"))), ["the endpoint", "is /run/usnet/ports/c2"]),
        (report_for(|port| port.is_enabled = false), ["port", "administratively down"]),
        (report_for(|port| port.state = ElementState::Failed("no memory".to_owned())), ["cannot run", "no memory"]),
        (report_for(|port| port.state = ElementState::Pending), ["does not run", "yet"]),
        (report_for(|port| port.owner = None), ["no port for this attachment", "on bridge"]),
    ] {
        assert!(parts.iter().all(|part| said.contains(part)) && !said.contains(';'), "{parts:?}: {said}");
    }
}

#[test]
fn a_port_on_another_bridge_is_reported_with_its_place() {
    let (id, expected, mut observed) = in_sync();
    let bridge = observed.bridges.remove(expected.port.bridge.as_str()).unwrap();
    let unbridged_ports = Observed { unbridged_ports: bridge.ports.clone(), ..Observed::default() };
    assert!(describe_drift(&id, &expected, &unbridged_ports).concat().contains("is none and should be"));
    let moved = Observed { bridges: BTreeMap::from([("br-other".to_owned(), bridge)]), ..Observed::default() };
    assert!(describe_drift(&id, &expected, &moved).concat().contains("is br-other and should be"));
}
