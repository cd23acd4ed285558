//! Gateways: a network is programmed when it has its own gateway, and fails while its bridge domain
//! has a gateway of another owner.

use super::on_each_vpp;
use super::testbed::{VppTestbed, domain_id, network};
use crate::support::node::until;
use crate::support::running_agent::RunningAgent;
use usnet_crds::node_state::NetworkState;
use usnet_crds::{Gateway, NodeNetwork};
use usnet_vpp::messages::{
    AddressFamily, CreateLoopbackInstance, DeleteLoopback, IpNeighbor, IpNeighborAddDel, IpNeighborDump, L2PortType,
    NO_INTERFACE, SwInterfaceDetails, SwInterfaceSetL2Bridge,
};

on_each_vpp!(
    a_network_is_programmed_with_its_gateway_which_is_repaired_and_removed,
    a_gateway_of_others_is_reported_until_it_is_removed,
    a_gateway_with_too_many_neighbours_is_set_down_and_others_stay,
);

fn with_gateway(name: &str) -> NodeNetwork {
    let addresses = vec!["10.1.0.1/24".parse().unwrap()];
    let gateway = Gateway { addresses, routing_domain: Some("a".parse().unwrap()) };
    NodeNetwork { gateway: Some(gateway), ..network(name) }
}

fn gateway(testbed: &VppTestbed) -> Option<SwInterfaceDetails> {
    testbed.interfaces().into_iter().find(|interface| interface.tag.as_str() == "usngw:blue")
}

/// The BVI of the bridge domain of network blue.
fn bvi(testbed: &VppTestbed) -> u32 {
    testbed.domains().remove(&domain_id(&network("blue"))).expect("the bridge domain").bvi_sw_if_index
}

fn a_network_is_programmed_with_its_gateway_which_is_repaired_and_removed(testbed: &VppTestbed) {
    let agent = RunningAgent::start(&testbed.paths);
    let blue = with_gateway("blue");
    agent.set_spec(1, std::slice::from_ref(&blue));
    testbed.wait_until_programmed("blue");
    let created = gateway(testbed).expect("a gateway");
    assert_eq!(bvi(testbed), created.sw_if_index);
    testbed.request(DeleteLoopback { sw_if_index: created.sw_if_index });
    until("it is there again", || (bvi(testbed) == gateway(testbed)?.sw_if_index).then_some(()));
    agent.set_spec(2, &[network("blue")]);
    until("it is gone", || gateway(testbed).is_none().then_some(()));
    agent.wait_for_network("blue", "is programmed", |entry| {
        entry.state == NetworkState::Programmed && entry.generation == 1
    });
    assert!(testbed.is_programmed("blue"));
}

/// Another client adds the neighbours, as VPP does for each ARP request of a pod.
fn a_gateway_with_too_many_neighbours_is_set_down_and_others_stay(testbed: &VppTestbed) {
    let agent = RunningAgent::start(&testbed.paths);
    let addresses = vec!["10.2.0.1/24".parse().unwrap()];
    let red = NodeNetwork { gateway: Some(Gateway { addresses, routing_domain: None }), ..network("red") };
    agent.set_spec(1, &[with_gateway("blue"), red]);
    ["blue", "red"].iter().for_each(|name| testbed.wait_until_programmed(name));
    let sw_if_index = gateway(testbed).expect("a gateway").sw_if_index;
    let neighbours = || testbed.dump(IpNeighborDump { sw_if_index: NO_INTERFACE, af: AddressFamily::Ip4 }).len();
    let last = u16::try_from(usnet_dataplane::routing::NEIGHBOUR_SHARE).unwrap();
    testbed.request_all((0..=last).map(|place| {
        let [high, low] = place.to_be_bytes();
        let ip_address = std::net::IpAddr::from([10, 3, high, low]).into();
        let neighbor = IpNeighbor { sw_if_index, flags: 0, mac_address: [2; 6], ip_address };
        IpNeighborAddDel { is_add: true, neighbor }
    }));
    let entry = agent.wait_for_network("blue", "failed", |entry| entry.state == NetworkState::Failed);
    assert_eq!(entry.reason, "GatewayHeld");
    assert!(entry.message.contains("down for 30 s"), "{}", entry.message);
    assert_eq!((bvi(testbed), neighbours()), (NO_INTERFACE, 0));
    assert!(testbed.is_programmed("blue"), "pods attach");
    assert!(testbed.is_programmed("red"));
}

fn a_gateway_of_others_is_reported_until_it_is_removed(testbed: &VppTestbed) {
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let theirs = testbed.request(CreateLoopbackInstance::default()).sw_if_index;
    let (bd_id, port_type) = (domain_id(&network("blue")), L2PortType::Bvi);
    testbed.request(SwInterfaceSetL2Bridge { rx_sw_if_index: theirs, bd_id, port_type, shg: 0, enable: true });
    agent.set_spec(2, &[with_gateway("blue")]);
    let entry = agent.wait_for_network("blue", "failed", |entry| entry.state == NetworkState::Failed);
    assert_eq!(entry.reason, "GatewayExists");
    assert!(entry.message.contains("loop0") && entry.message.contains("spec.gateway"), "{}", entry.message);
    assert_eq!(bvi(testbed), theirs, "it is left alone");
    testbed.request(DeleteLoopback { sw_if_index: theirs });
    testbed.wait_until_programmed("blue");
    assert!(gateway(testbed).is_some());
}
