//! Memifs that Intel's userspace CNI created are taken over: they get tags, their bridge domain
//! gets a mark, and nothing is created again.

use super::on_each_vpp;
use super::testbed::VppTestbed;
use crate::support::legacy_pods::{LegacyPod, network_of_bridge, vpp_configuration};
use crate::support::node::until;
use crate::support::restarts;
use crate::support::running_agent::RunningAgent;
use crate::support::traffic::{Counts, Traffic};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use usnet_crds::{EngineKind, NodeNetwork};
use usnet_dataplane::attachment::{Progress, Record};
use usnet_endpoint::Port;
use usnet_endpoint::memif::{Socket, Target, connect};
use usnet_vpp::messages::{
    BridgeDomainAddDelV2, IfStatusFlags, L2PortType, MemifCreate, MemifDelete, MemifRole, MemifSocketFilenameAddDelV2,
    SwInterfaceSetFlags, SwInterfaceSetL2Bridge,
};
use usnet_vpp::wire::Text;

on_each_vpp!(
    memifs_and_their_bridge_domain_are_taken_over_and_restored_after_a_restart,
    a_bridge_domain_with_another_interface_is_left_alone_until_that_is_gone,
);
on_each_vpp!(with_programs: programs_that_send_lose_no_packet_while_they_are_taken_over);

const PODS: u8 = 10;
const DOMAIN: u32 = 4;

fn network() -> NodeNetwork {
    network_of_bridge(EngineKind::Vpp, "vpp-4", "4")
}

/// The bridge domain as the legacy plugin creates it.
fn create_domain(testbed: &VppTestbed) {
    let flags = BridgeDomainAddDelV2 { flood: true, uu_flood: true, forward: true, learn: true, ..Default::default() };
    testbed.request(BridgeDomainAddDelV2 { bd_id: DOMAIN, is_add: true, ..flags });
}

fn join(testbed: &VppTestbed, index: u32) {
    testbed.request(SwInterfaceSetFlags { sw_if_index: index, flags: IfStatusFlags::ADMIN_UP });
    let port_type = L2PortType::Normal;
    testbed.request(SwInterfaceSetL2Bridge { rx_sw_if_index: index, bd_id: DOMAIN, port_type, shg: 0, enable: true });
}

fn create_memif(testbed: &VppTestbed, socket_id: u32, socket: &str) -> u32 {
    testbed.request(MemifSocketFilenameAddDelV2 { is_add: true, socket_id, socket_filename: Text::from(socket) });
    let (role, ring_size, buffer_size) = (MemifRole::Master, 1024, 2048);
    let created = testbed.request(MemifCreate { role, socket_id, ring_size, buffer_size, ..MemifCreate::default() });
    join(testbed, created.sw_if_index);
    created.sw_if_index
}

/// Attaches a pod as the legacy plugin does; returns its socket and the index of its interface.
fn attach(testbed: &VppTestbed, number: u8) -> (LegacyPod, PathBuf, u32) {
    let pod = LegacyPod::new(&testbed.paths, number, vpp_configuration(DOMAIN));
    let folder = testbed.vpp.folder().join(&pod.container[..12]);
    fs::create_dir_all(&folder).unwrap();
    let socket = folder.join(format!("memif-{}.sock", pod.port()));
    let index = create_memif(testbed, number.into(), socket.to_str().unwrap());
    pod.write(&json!({"swIfIndex": index, "memifSocketId": number}));
    (pod, socket, index)
}

fn attach_all(testbed: &VppTestbed) -> Vec<(LegacyPod, PathBuf, u32)> {
    create_domain(testbed);
    (1..=PODS).map(|number| attach(testbed, number)).collect()
}

/// The indexes of complete ports with a tag, by their sockets.
fn indexes(testbed: &VppTestbed) -> BTreeMap<String, u32> {
    testbed.ports().into_iter().map(|(socket, port)| (socket, port.sw_if_index)).collect()
}

fn is_taken_over(testbed: &VppTestbed, pods: &[(LegacyPod, PathBuf, u32)]) -> Option<()> {
    let expected: BTreeMap<_, _> =
        pods.iter().map(|(_, socket, index)| (socket.display().to_string(), *index)).collect();
    (indexes(testbed) == expected).then_some(())
}

fn delete_all(testbed: &VppTestbed, agent: &RunningAgent, pods: &[(LegacyPod, PathBuf, u32)]) {
    for (pod, ..) in pods {
        fs::remove_file(&pod.state).unwrap();
        let record = testbed.records().into_iter().find(|record| record.id.to_string() == pod.id()).unwrap();
        testbed.write(&Record { progress: Progress::Detached, ..record });
    }
    until("the records are removed", || testbed.records().is_empty().then_some(()));
    assert!(testbed.domains().contains_key(&DOMAIN), "its network is there");
    agent.set_spec(2, &[]);
    let is_empty = || !testbed.domains().contains_key(&DOMAIN) && testbed.interfaces().len() == 1;
    until("nothing is left but VPP's own interface", || is_empty().then_some(()));
}

#[expect(clippy::print_stdout, reason = "the time is a figure of a report")]
fn memifs_and_their_bridge_domain_are_taken_over_and_restored_after_a_restart(testbed: &mut VppTestbed) {
    let pods = attach_all(testbed);
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network()]);
    testbed.wait_until_programmed("vpp-4");
    until("all have a tag, and the same interface", || is_taken_over(testbed, &pods));
    agent.wait_for_network("vpp-4", "has all pods", |entry| entry.attachments == i64::from(PODS));
    let creations = ["MemifCreate", "MemifDelete", "BridgeDomainAddDel"];
    let changes = testbed.changes();
    let by_agent = changes.iter().filter(|change| creations.iter().any(|creation| change.contains(creation)));
    assert!(testbed.vpp.simulator().is_none() || by_agent.count() == usize::from(PODS) + 1, "{changes:#?}");

    // The bridge domain has a mark in the place of a tag, which counts for new ports as well.
    let deleted = pods.first().unwrap();
    testbed.request(MemifDelete { sw_if_index: deleted.2 });
    until("the deleted memif is back", || indexes(testbed).contains_key(deleted.1.to_str()?).then_some(()));

    testbed.vpp.kill().unwrap();
    let returned = restarts::watch_socket(testbed.vpp.socket().to_owned());
    testbed.vpp.start_again().unwrap();
    until("all ports are back", || (testbed.ports().len() == pods.len()).then_some(()));
    println!("all ports {:?} after VPP returned", returned.join().unwrap().elapsed());
    assert_eq!(testbed.domains().get(&DOMAIN).unwrap().bd_tag.to_string(), "usnet:vpp-4");
    testbed.wait_until_programmed("vpp-4");
    delete_all(testbed, &agent, &pods);
}

fn a_bridge_domain_with_another_interface_is_left_alone_until_that_is_gone(testbed: &mut VppTestbed) {
    create_domain(testbed);
    let pods = [attach(testbed, 1)];
    let other = create_memif(testbed, 77, testbed.vpp.folder().join("other.sock").to_str().unwrap());
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network()]);
    assert_eq!(testbed.wait_until_unavailable("vpp-4"), "BridgeExists");
    until("there is a record", || (testbed.records().len() == 1).then_some(()));
    assert!(indexes(testbed).is_empty(), "without a tag of its bridge domain no interface gets one");
    let port_type = L2PortType::Normal;
    testbed.request(SwInterfaceSetL2Bridge { rx_sw_if_index: other, bd_id: DOMAIN, port_type, shg: 0, enable: false });
    testbed.wait_until_programmed("vpp-4");
    until("it has a tag, and the same interface", || is_taken_over(testbed, &pods));
}

#[expect(clippy::print_stdout, reason = "the count is a figure of a report")]
fn programs_that_send_lose_no_packet_while_they_are_taken_over(testbed: &mut VppTestbed) {
    let pods = attach_all(testbed);
    let program = |(_, socket, _): &(LegacyPod, PathBuf, u32)| -> Box<dyn Port + Send> {
        let target = Target { socket: Socket::File(socket.clone()), id: 0, secret: String::new(), ip: false };
        Box::new(connect(&target).unwrap())
    };
    let traffic = Traffic::start(pods.iter().map(program).collect());
    traffic.pass(2_000);
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network()]);
    testbed.wait_until_programmed("vpp-4");
    until("all have a tag, and the same interface", || is_taken_over(testbed, &pods));
    traffic.pass(10_000);
    let Counts { sent, received } = traffic.stop();
    println!("{sent} frames sent while {PODS} memifs were taken over, {} lost", sent - received);
    assert_eq!(received, sent);
    delete_all(testbed, &agent, &pods);
}
