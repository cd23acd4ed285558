//! Pods that Intel's userspace CNI attached are taken over while they send: their ports and their
//! bridge get tags, and nothing else of them changes.

use super::testbed::OvsTestbed;
use crate::support::legacy_pods::{LegacyPod, network_of_bridge, ovs_configuration};
use crate::support::node::until;
use crate::support::restarts;
use crate::support::running_agent::RunningAgent;
use crate::support::traffic::{Counts, Traffic};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};
use usnet_crds::node_state::NetworkReport;
use usnet_crds::{EngineKind, NodeNetwork};
use usnet_dataplane::attachment::{Progress, Record};
use usnet_endpoint::Port;
use usnet_endpoint::vhost_user::Listener;
use usnet_test_openvswitch::OpenVswitch;

const PODS: u8 = 10;
const CONNECTED_WITHIN: Duration = Duration::from_secs(30);
/// Each connected port takes 62 MiB.
const MEMORY: u32 = 900;

fn blue() -> NodeNetwork {
    network_of_bridge(EngineKind::OpenVswitch, "ovs-br0", "br0")
}

/// The bridge as the legacy plugin creates it.
fn testbed(dpdk_memory: u32) -> OvsTestbed {
    let testbed = OvsTestbed::with(OpenVswitch::builder().dpdk(true).dpdk_memory(dpdk_memory).start().unwrap());
    testbed.vsctl("add-br br0 -- set bridge br0 datapath_type=netdev");
    let flow = ["add-flow", "br0", "actions=NORMAL"];
    let management = format!("unix:{}/br0.mgmt", testbed.ovs.folder().display());
    let status = testbed.ovs.command("ovs-ofctl").args([flow[0], &management, flow[2]]).status().unwrap();
    assert!(status.success());
    testbed
}

/// Attaches a pod as the legacy plugin does; returns its socket.
fn attach(testbed: &OvsTestbed, number: u8) -> (LegacyPod, Listener) {
    let pod = LegacyPod::new(&testbed.paths, number, ovs_configuration("br0"));
    let (name, folder) = (pod.port(), testbed.ovs.folder().join(&pod.container[..12]));
    fs::create_dir_all(&folder).unwrap();
    let socket = folder.join(&name);
    let listener = Listener::bind(&socket).unwrap();
    let path = socket.display();
    testbed.vsctl(&format!(
        "add-port br0 {name} -- set Interface {name} type=dpdkvhostuserclient options:vhost-server-path={path}"
    ));
    pod.write(&json!({"vhostname": name, "vhostmac": "", "ifmac": "aa:bb:cc:dd:ee:ff"}));
    (pod, listener)
}

/// The program of a pod. A switch that was killed may have left a connection.
fn program(listener: &Listener) -> Box<dyn Port + Send> {
    Box::new(until("the switch connects", || listener.accept(CONNECTED_WITHIN).ok()))
}

/// What must not change: the rows of interfaces, with the number of the port and its connection.
fn interfaces(testbed: &OvsTestbed) -> Value {
    testbed.rows("Interface", &["_uuid", "name", "type", "ofport", "options", "error", "ingress_policing_rate"])
}

fn record_of(testbed: &OvsTestbed, pod: &LegacyPod) -> Option<Record> {
    testbed.records().into_iter().find(|record| record.id.to_string() == pod.id())
}

fn tag(testbed: &OvsTestbed, pod: &LegacyPod) -> Option<String> {
    let ids = testbed.vsctl(&format!("get Port {} external_ids", pod.port()));
    ids.contains("usnet.dev/attachment").then_some(ids)
}

#[test]
fn ten_pods_that_send_are_taken_over_without_the_loss_of_a_packet_and_restored_after_a_restart() {
    take_over_under_traffic(testbed(MEMORY));
}

/// The fork of the legacy plugin gives its bridge no local port.
#[test]
fn a_bridge_without_a_local_port_is_taken_over_without_the_loss_of_a_packet() {
    let testbed = testbed(MEMORY);
    testbed.vsctl("-- --id=@port get Port br0 -- remove Bridge br0 ports @port");
    take_over_under_traffic(testbed);
}

#[expect(clippy::print_stdout, reason = "the count and the time are figures of a report")]
fn take_over_under_traffic(mut testbed: OvsTestbed) {
    let (pods, listeners): (Vec<_>, Vec<_>) = (1..=PODS).map(|number| attach(&testbed, number)).unzip();
    let traffic = Traffic::start(listeners.iter().map(program).collect());
    traffic.pass(2_000);
    let before = interfaces(&testbed);
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[blue()]);
    testbed.wait_until_programmed("ovs-br0");
    let is_done = |entry: &NetworkReport| entry.attachments == i64::from(PODS) && entry.reason.is_empty();
    agent.wait_for_network("ovs-br0", "has all pods, and no problem", is_done);
    traffic.pass(10_000);
    let Counts { sent, received } = traffic.stop();
    println!("{sent} frames sent while {PODS} pods were taken over, {} lost", sent - received);
    assert_eq!(received, sent);
    assert!(pods.iter().all(|pod| tag(&testbed, pod).is_some() && pod.state.exists()));
    let kept = |rows: &Value| {
        let rows = rows.pointer("/0/rows").unwrap().as_array().unwrap().clone();
        rows.into_iter().filter(|row| row["name"] != "br0").map(|row| row.to_string()).collect::<BTreeSet<_>>()
    };
    assert_eq!(kept(&interfaces(&testbed)), kept(&before));
    assert!(testbed.vsctl("get Bridge br0 external_ids").contains("ovs-br0"));

    testbed.ovs.kill_vswitchd().unwrap();
    agent.wait_for_connection("NotActing");
    let (programs, took) = restarted(&mut testbed, &listeners);
    let traffic = Traffic::start(programs);
    traffic.pass(1_000);
    let Counts { sent, received } = traffic.stop();
    assert_eq!(received, sent);
    drop(agent);
    testbed.ovs.kill_vswitchd().unwrap();
    let (_programs, alone) = restarted(&mut testbed, &listeners);
    println!("connected again {took:?} after the switch returned, and {alone:?} without an agent");
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[blue()]);
    deleted(&testbed, &agent, &pods);
}

/// The programs after a start of the switch, and how long they took to be connected.
fn restarted(testbed: &mut OvsTestbed, listeners: &[Listener]) -> (Vec<Box<dyn Port + Send>>, Duration) {
    let returned = restarts::watch_socket(testbed.ovs.control_socket().to_owned());
    testbed.ovs.start_vswitchd().unwrap();
    let programs = listeners.iter().map(program).collect();
    (programs, returned.join().unwrap().elapsed())
}

/// What is left when DEL was called for all of them while the engine was away.
fn deleted(testbed: &OvsTestbed, agent: &RunningAgent, pods: &[LegacyPod]) {
    for pod in pods {
        fs::remove_file(&pod.state).unwrap();
        let record = record_of(testbed, pod).unwrap();
        testbed.write(&Record { progress: Progress::Detached, ..record });
    }
    until("the records are removed", || testbed.records().is_empty().then_some(()));
    assert_eq!(testbed.vsctl("list-ports br0"), "");
    agent.set_spec(2, &[]);
    until("the bridge is removed", || testbed.bridges().is_empty().then_some(()));
}

#[test]
fn a_bridge_with_other_ports_is_left_alone_and_its_pods_are_taken_over_all_the_same() {
    let testbed = testbed(64);
    let (pod, _listener) = attach(&testbed, 1);
    testbed.vsctl("add-port br0 foreign0 -- set Interface foreign0 type=internal");
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[blue()]);
    assert_eq!(testbed.wait_until_unavailable("ovs-br0"), "BridgeExists");
    until("the port has a tag", || tag(&testbed, &pod));
    assert_eq!(testbed.vsctl("get Bridge br0 external_ids"), "{}");
    testbed.vsctl("del-port foreign0");
    testbed.wait_until_programmed("ovs-br0");
}

#[test]
fn a_port_with_a_tag_of_others_and_one_of_another_kind_are_left_alone() {
    let testbed = testbed(64);
    let (tagged, _first) = attach(&testbed, 1);
    let (other, _second) = attach(&testbed, 2);
    let (forked, _third) = attach(&testbed, 3);
    testbed.vsctl(&format!("set Port {} external_ids:owner=others", tagged.port()));
    testbed.vsctl(&format!("set Interface {} type=internal", other.port()));
    let fork = "external_ids:owner=userspace-cni external_ids:interface=net1";
    testbed.vsctl(&format!("set Port {} {fork}", forked.port()));
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[blue()]);
    let ids = until("the port of the fork has a tag", || tag(&testbed, &forked));
    assert!(ids.contains("owner=userspace-cni"), "{ids}");
    assert!(tag(&testbed, &tagged).is_none() && tag(&testbed, &other).is_none());
    assert!(record_of(&testbed, &other).is_none());
}

#[test]
fn a_detach_while_the_switch_is_away_removes_a_port_that_never_had_a_tag() {
    let mut testbed = testbed(64);
    let (pod, _listener) = attach(&testbed, 1);
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[blue()]);
    until("the port has a tag", || tag(&testbed, &pod));
    let record = record_of(&testbed, &pod).unwrap();
    testbed.ovs.kill_ovsdb_server().unwrap();
    agent.wait_for_connection("Disconnected");
    drop(agent);
    fs::remove_file(&pod.state).unwrap();
    testbed.write(&Record { progress: Progress::Detached, ..record });
    testbed.ovs.start_ovsdb_server().unwrap();
    testbed.vsctl(&format!("clear Port {} external_ids", pod.port()));
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[blue()]);
    let started = Instant::now();
    until("the record is removed", || testbed.records().is_empty().then_some(()));
    println!("removed {:?} after the agent started", started.elapsed());
    assert_eq!(testbed.vsctl("list-ports br0"), "");
}
