//! Gateways: a network is programmed when it has its own, and fails while its bridge domain has one
//! of others.

use super::on_each_vpp;
use super::testbed::{VppTestbed, domain_id, network};
use crate::support::node::until;
use crate::support::running_agent::RunningAgent;
use usnet_crds::node_state::NetworkState;
use usnet_crds::{Gateway, NodeNetwork};
use usnet_vpp::messages::{
    CreateLoopbackInstance, DeleteLoopback, L2PortType, SwInterfaceDetails, SwInterfaceSetL2Bridge,
};

on_each_vpp!(
    a_network_is_programmed_with_its_gateway_which_is_repaired_and_removed,
    a_gateway_of_others_is_reported_until_it_is_removed,
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
