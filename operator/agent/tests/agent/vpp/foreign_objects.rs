//! What other clients have configured in VPP stays as it is: docs/operations.md promises it.

use super::on_each_vpp;
use super::testbed::{VppTestbed, domain_id, network};
use crate::support::changes::change_many;
use crate::support::running_agent::RunningAgent;
use std::fmt::Debug;
use usnet_crds::{NodeNetwork, Ownership};
use usnet_vpp::messages::{
    BridgeDomainAddDelV2, BridgeDomainDetails, CreateLoopbackInstance, IpTableAddDel, IpTableDump, L2PortType,
    PolicerAddDel, PolicerDump, SwInterfaceSetL2Bridge, SwInterfaceTagAddDel,
};
use usnet_vpp::wire::FixedText;

/// Bridge domains, the first of which a network adopts, each with an interface.
const DOMAINS: u32 = 300;
const FIRST_DOMAIN: u32 = 9000;
/// Interfaces in the bridge domain of usnet.
const INSIDE: u32 = 50;
const POLICERS: u32 = 200;
const TABLES: u32 = 150;

on_each_vpp!(a_thousand_objects_of_others_are_as_they_were_after_changes_and_restarts_of_the_agent);

fn text(text: &str) -> FixedText<64> {
    text.try_into().unwrap()
}

fn adopting() -> NodeNetwork {
    let mut network = network("green");
    network.bridge.name = FIRST_DOMAIN.to_string().parse().unwrap();
    network.bridge.ownership = Ownership::Adopted;
    network
}

fn create_foreign_objects(testbed: &VppTestbed) {
    let ids = FIRST_DOMAIN..FIRST_DOMAIN + DOMAINS;
    let domain = |bd_id| BridgeDomainAddDelV2 {
        bd_id,
        is_add: true,
        flood: true,
        uu_flood: true,
        forward: true,
        learn: true,
        bd_tag: text("theirs"),
        ..Default::default()
    };
    testbed.request_all(ids.clone().map(domain));
    let into = ids.chain((0..INSIDE).map(|_| domain_id(&network("blue"))));
    for (number, bd_id) in (0..).zip(into) {
        let loopback =
            CreateLoopbackInstance { is_specified: true, user_instance: 2000 + number, ..Default::default() };
        let rx_sw_if_index = testbed.request(loopback).sw_if_index;
        let member =
            SwInterfaceSetL2Bridge { rx_sw_if_index, bd_id, port_type: L2PortType::Normal, shg: 0, enable: true };
        testbed.request(member);
        testbed.request(SwInterfaceTagAddDel { is_add: true, sw_if_index: rx_sw_if_index, tag: text("theirs") });
    }
    let name = |kind: &str, number: u32| text(&format!("their-{kind}-{number}"));
    let policer = |number| PolicerAddDel {
        is_add: true,
        name: name("policer", number),
        cir: 1000,
        cb: 100_000,
        ..Default::default()
    };
    testbed.request_all((0..POLICERS).map(policer));
    let table = |number| IpTableAddDel {
        is_add: true,
        table_id: 70_000 + number,
        is_ip6: number % 2 == 0,
        name: name("table", number),
    };
    testbed.request_all((0..TABLES).map(table));
}

/// The objects of others, each as a text.
fn foreign_objects(testbed: &VppTestbed) -> Vec<String> {
    fn texts<T: Debug>(all: impl IntoIterator<Item = T>) -> impl Iterator<Item = String> {
        all.into_iter().map(|one| format!("{one:?}"))
    }
    let interfaces = testbed.interfaces();
    let theirs: Vec<_> = interfaces.into_iter().filter(|interface| interface.tag.as_str() == "theirs").collect();
    let is_theirs = |index: u32| theirs.iter().any(|interface| interface.sw_if_index == index);
    // Ports of pods come and go in the domain that a network adopts.
    let domains = testbed.domains().into_values().map(|mut domain: BridgeDomainDetails| {
        domain.sw_if_details.retain(|member| is_theirs(member.sw_if_index));
        domain
    });
    let blue = domain_id(&network("blue"));
    let members = domains
        .map(|domain| if domain.bd_id == blue { format!("{:?}", domain.sw_if_details) } else { format!("{domain:?}") });
    let tables = testbed.dump(IpTableDump {}).into_iter().filter(|table| table.name.as_str().starts_with("their-"));
    members.chain(texts(&theirs)).chain(texts(testbed.dump(PolicerDump::default()))).chain(texts(tables)).collect()
}

fn a_thousand_objects_of_others_are_as_they_were_after_changes_and_restarts_of_the_agent(testbed: &VppTestbed) {
    let networks = [network("blue"), adopting()];
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    create_foreign_objects(testbed);
    agent.set_spec(2, &networks);
    testbed.wait_until_programmed("green");
    let pods = [testbed.pod("c1", &network("blue")), testbed.pod("c2", &adopting())];
    pods.iter().for_each(|pod| testbed.write(pod));
    pods.iter().for_each(|pod| drop(testbed.wait_for_port(pod)));
    let before = foreign_objects(testbed);
    assert!(before.len() >= 1000, "{}", before.len());

    let _agent = change_many(testbed, agent, &networks, &pods, 2);
    pods.iter().for_each(|pod| drop(testbed.wait_for_port(pod)));
    let after = foreign_objects(testbed);
    let changed: Vec<_> = after.iter().filter(|one| !before.contains(one)).collect();
    assert!(
        changed.is_empty() && after.len() == before.len(),
        "{} of {} remain; {changed:#?}",
        after.len(),
        before.len()
    );
}
