use super::*;
use crate::model::bridge::BridgeOwner;
use crate::model::desired::Desired;
use crate::model::observed::ObservedBridge;
use crate::model::tagging::Tagging;
use crate::testing;
use std::collections::BTreeMap;
use usnet_crds::VlanTag;

/// The port of an attachment, and an engine that has it as it should be.
fn in_sync() -> (DesiredPort, Observed) {
    let network = testing::network("blue");
    let record = testing::record("c1", &network);
    let desired = Desired::new([network.clone()], [&record]);
    let expected = desired.attachment(&record.id).unwrap().clone();
    let bridge = ObservedBridge {
        owner: Some(BridgeOwner::Network(network.name.clone())),
        has_supported_datapath: true,
        adoption_blocker: None,
        settings: (&network.bridge).into(),
        state: ElementState::Running,
        ports: BTreeMap::from([(expected.name.clone(), (&expected).into())]),
    };
    let bridges = BTreeMap::from([(network.bridge.name.to_string(), bridge)]);
    (expected, Observed { bridges, ..Observed::default() })
}

/// The report when one property of the port differs.
fn report_for(change: impl FnOnce(&mut ObservedPort)) -> String {
    let (expected, mut observed) = in_sync();
    change(observed.bridges.values_mut().flat_map(|bridge| bridge.ports.values_mut()).next().unwrap());
    describe_drift(&expected, &observed).join("; ")
}

#[test]
fn a_port_without_drift_is_not_reported() {
    assert_eq!(report_for(|_| {}), "");
}

#[test]
fn each_difference_is_reported_with_both_values() {
    let tag = |tag| Tagging::Vlan(usnet_crds::Vlan::Access { tag: VlanTag::try_from(tag).unwrap() });
    for (said, parts) in [
        (report_for(|port| port.settings.mtu = Some(9000)), ["the MTU", "is 9000 and should be 1500"]),
        (report_for(|port| port.settings.mtu = None), ["the MTU", "is unset and should be 1500"]),
        (report_for(|port| port.settings.tagging = tag(7)), ["the VLAN", "is VLAN 7 and should be none"]),
        (report_for(|port| port.settings.tagging = Tagging::Other), ["the VLAN", "usnet does not set"]),
        (report_for(|port| port.settings.rate_limit = None), ["the rate limit", "should be no rate limit"]),
        (report_for(|port| port.backend = None), ["the endpoint", "/c1/net1.sock (vhost-user, the engine connects)"]),
        (report_for(|port| port.backend = Some(testing::backend("c2"))), ["the endpoint", "is /run/usnet/ports/c2"]),
        (report_for(|port| port.settings.is_enabled = false), ["port", "administratively down"]),
        (report_for(|port| port.state = ElementState::Failed("no memory".to_owned())), ["cannot run", "no memory"]),
        (report_for(|port| port.state = ElementState::NoMemory), ["cannot run", "no memory for its packets"]),
        (report_for(|port| port.state = ElementState::Pending), ["does not run", "yet"]),
        (report_for(|port| port.owner = None), ["no port for this attachment", "on bridge"]),
    ] {
        assert!(parts.iter().all(|part| said.contains(part)) && !said.contains(';'), "{parts:?}: {said}");
    }
}

#[test]
fn a_port_on_another_bridge_is_reported_with_its_place() {
    let (expected, mut observed) = in_sync();
    let bridge = observed.bridges.remove(expected.bridge_name().unwrap().as_str()).unwrap();
    let unbridged_ports = Observed { unbridged_ports: bridge.ports.clone(), ..Observed::default() };
    assert!(describe_drift(&expected, &unbridged_ports).concat().contains("is none and should be"));
    let moved = Observed { bridges: BTreeMap::from([("br-other".to_owned(), bridge)]), ..Observed::default() };
    assert!(describe_drift(&expected, &moved).concat().contains("is br-other and should be"));
}
