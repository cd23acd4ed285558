//! Ports of attached pods are kept and repaired, those of detached pods are removed, and connected
//! peers are counted.

use super::on_each_vpp;
use super::program::{connect_to, connect_with_queues};
use super::testbed::{VppTestbed, domain_id, network};
use crate::support::node::until;
use crate::support::running_agent::RunningAgent;
use std::fs;
use usnet_crds::node_state::NetworkState;
use usnet_crds::{EngineKind, Mtu, Polling, Queues};
use usnet_dataplane::attachment::{Progress, Record};
use usnet_vpp::messages::{
    IfStatusFlags, L2PortType, MemifDelete, RxMode, SwInterfaceRxPlacementDump, SwInterfaceSetFlags,
    SwInterfaceSetL2Bridge, SwInterfaceSetMtu, SwInterfaceTagAddDel,
};

on_each_vpp!(
    whatever_is_changed_on_a_port_is_repaired_in_place,
    a_removed_port_is_recreated,
    a_new_mtu_reaches_the_ports_in_place,
    a_detach_without_vpp_is_finished_when_it_returns,
    what_the_plugin_has_locked_is_left_to_it,
    a_new_agent_changes_nothing,
    what_a_pod_leaves_at_its_socket_degrades_its_own_attachment_only,
);
on_each_vpp!(
    with_programs: the_pods_whose_program_is_connected_are_counted,
    all_queues_of_a_program_are_used_whenever_it_connects,
    the_pod_whose_program_connected_last_is_named_when_vpp_ends,
);

/// Network blue with one attached pod.
pub(super) fn with_pod(testbed: &VppTestbed) -> (RunningAgent, Record) {
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let pod = testbed.pod("c1", &network("blue"));
    testbed.write(&pod);
    testbed.wait_for_port(&pod);
    (agent, pod)
}

fn whatever_is_changed_on_a_port_is_repaired_in_place(testbed: &VppTestbed) {
    let (agent, pod) = with_pod(testbed);
    let before = testbed.wait_for_port(&pod);
    let sw_if_index = before.sw_if_index;
    let repaired = |what: &str| until(what, || (testbed.port(&pod).as_ref() == Some(&before)).then_some(()));
    testbed.request(SwInterfaceSetFlags { sw_if_index, flags: IfStatusFlags::default() });
    repaired("it is up");
    testbed.request(SwInterfaceSetMtu { sw_if_index, mtu: [1280, 0, 0, 0] });
    repaired("it has its MTU");
    let bd_id = domain_id(&network("blue"));
    let port_type = L2PortType::Normal;
    testbed.request(SwInterfaceSetL2Bridge { rx_sw_if_index: sw_if_index, bd_id, port_type, shg: 0, enable: false });
    repaired("it is in its bridge domain");
    testbed.request(SwInterfaceTagAddDel { is_add: false, sw_if_index, tag: "".try_into().unwrap() });
    repaired("it is marked");
    let entry = agent.wait_for_network("blue", "has a pod", |entry| entry.attachments == 1);
    assert_eq!((entry.pods, entry.connected), (vec!["default/c1".to_owned()], 0));
}

fn all_queues_of_a_program_are_used_whenever_it_connects(testbed: &VppTestbed) {
    let agent = RunningAgent::start(&testbed.paths);
    let mut blue = network("blue");
    (blue.port.queues, blue.port.polling) = (Queues::try_from(2).unwrap(), Some(Polling::Interrupt));
    agent.set_spec(1, std::slice::from_ref(&blue));
    testbed.wait_until_programmed("blue");
    let pod = testbed.pod("c1", &blue);
    testbed.write(&pod);
    let sw_if_index = testbed.wait_for_port(&pod).sw_if_index;
    for _ in 0..2 {
        let _program = connect_with_queues(&pod.port.backend, 2);
        let modes = || testbed.dump(SwInterfaceRxPlacementDump { sw_if_index }).into_iter().map(|queue| queue.mode);
        until("both queues are read as the network says", || modes().eq([RxMode::Interrupt; 2]).then_some(()));
        until("the only thread sends by both queues", || (testbed.threads(sw_if_index) == [[0], [0]]).then_some(()));
    }
}

fn a_removed_port_is_recreated(testbed: &VppTestbed) {
    let (_agent, pod) = with_pod(testbed);
    let sw_if_index = testbed.wait_for_port(&pod).sw_if_index;
    testbed.request(MemifDelete { sw_if_index });
    until("it was removed and recreated", || testbed.port(&pod));
    testbed.wait_until_programmed("blue");
}

fn a_new_mtu_reaches_the_ports_in_place(testbed: &VppTestbed) {
    let (agent, pod) = with_pod(testbed);
    let before = testbed.wait_for_port(&pod);
    let mut changed = network("blue");
    changed.generation = 2;
    changed.bridge.mtu = Mtu::try_from(1400).unwrap();
    agent.set_spec(2, &[changed]);
    until("the port has the new MTU", || (testbed.port(&pod)?.mtu == 1400).then_some(()));
    assert_eq!(testbed.wait_for_port(&pod).sw_if_index, before.sw_if_index, "the port was recreated");
}

fn a_detach_without_vpp_is_finished_when_it_returns(testbed: &mut VppTestbed) {
    let (_agent, pod) = with_pod(testbed);
    testbed.vpp.kill().unwrap();
    assert_eq!(testbed.wait_until_unavailable("blue"), "EngineUnreachable");
    testbed.write(&Record { progress: Progress::Detached, ..pod.clone() });
    testbed.vpp.start_again().unwrap();
    until("the record is removed", || testbed.records().is_empty().then_some(()));
    assert_eq!(testbed.port(&pod), None);
}

fn what_the_plugin_has_locked_is_left_to_it(testbed: &VppTestbed) {
    let (_agent, pod) = with_pod(testbed);
    let journal = usnet_dataplane::journal::Journal::open(&testbed.paths).unwrap();
    let locked = journal.lock(&pod.id).unwrap();
    locked.write(&Record { progress: Progress::Detaching, ..pod.clone() }).unwrap();
    // Another pod's port is created after the agent has read the first one's record.
    let other = testbed.pod("c2", &network("blue"));
    testbed.write(&other);
    testbed.wait_for_port(&other);
    assert!(testbed.port(&pod).is_some(), "the agent took the port from under the plugin");
    locked.write(&Record { progress: Progress::Detached, ..pod.clone() }).unwrap();
    drop(locked);
    until("the agent finishes what was left", || testbed.port(&pod).is_none().then_some(()));
    until("the record is removed", || (testbed.records().len() == 1).then_some(()));
}

fn a_new_agent_changes_nothing(testbed: &VppTestbed) {
    let (agent, _pod) = with_pod(testbed);
    testbed.write(&testbed.pod("c2", &network("blue")));
    until("both have a port", || (testbed.ports().len() == 2).then_some(()));
    agent.wait_for_network("blue", "has two pods", |entry| entry.attachments == 2);
    drop(agent);
    let observed = || (testbed.domains(), testbed.interfaces(), testbed.ports(), testbed.changes());
    let before = observed();
    let agent = RunningAgent::start(&testbed.paths);
    let attachments = agent.wait_for_report("network blue", |report| Some(report.networks.first()?.attachments));
    assert_eq!(attachments, 2);
    agent.set_spec(2, &[network("blue")]);
    agent.wait_for_report("generation 2", |report| (report.observed_generation() == Some(2)).then_some(()));
    assert_eq!(observed(), before);
}

fn what_a_pod_leaves_at_its_socket_degrades_its_own_attachment_only(testbed: &mut VppTestbed) {
    let (agent, pod) = with_pod(testbed);
    let other = testbed.pod("c2", &network("blue"));
    testbed.write(&other);
    testbed.wait_for_port(&other);
    testbed.vpp.kill().unwrap();
    assert_eq!(testbed.wait_until_unavailable("blue"), "EngineUnreachable");
    let socket = pod.port.backend.socket_file().unwrap();
    let _socket_of_dead_vpp = fs::remove_file(socket);
    fs::create_dir(socket).unwrap();
    testbed.vpp.start_again().unwrap();
    testbed.wait_for_port(&other);
    let entry = agent.wait_for_network("blue", "names the attachment", |entry| !entry.degraded.is_empty());
    assert_eq!((entry.state, entry.attachments), (NetworkState::Programmed, 2));
    let [degraded] = entry.degraded.as_slice() else { panic!("{entry:?}") };
    assert_eq!((degraded.pod.as_str(), degraded.interface.as_str()), ("default/c1", "net1"));
    assert_eq!(degraded.reason, "SocketUnusable", "{degraded:?}");
    agent.wait_for_condition("Ready", "AgentReady");
    agent.wait_for_condition("NetworksProgrammed", "AllProgrammed");
    assert!(testbed.is_programmed("blue"));
    fs::remove_dir(socket).unwrap();
    testbed.wait_for_port(&pod);
    agent.wait_for_network("blue", "has both ports", |entry| entry.degraded.is_empty());
}

fn the_pods_whose_program_is_connected_are_counted(testbed: &VppTestbed) {
    let (agent, pod) = with_pod(testbed);
    testbed.write(&testbed.pod("c2", &network("blue")));
    agent.wait_for_network("blue", "has two pods", |entry| (entry.attachments, entry.connected) == (2, 0));
    let program = connect_to(&pod.port.backend);
    agent.wait_for_network("blue", "has one program", |entry| entry.connected == 1);
    drop(program);
    agent.wait_for_network("blue", "has lost it", |entry| entry.connected == 0);
    assert!(testbed.is_programmed("blue"));
}

fn the_pod_whose_program_connected_last_is_named_when_vpp_ends(testbed: &mut VppTestbed) {
    let (agent, pod) = with_pod(testbed);
    testbed.write(&testbed.pod("c2", &network("blue")));
    let _program = connect_to(&pod.port.backend);
    agent.wait_for_network("blue", "has one program", |entry| (entry.attachments, entry.connected) == (2, 1));
    testbed.vpp.kill().unwrap();
    let end = agent.wait_for_end_of(EngineKind::Vpp, 1);
    assert!(end.contains("connected last: default/c1 (net1) "), "{end}");
    assert!(end.contains("not connected: default/c2 (net1)"), "{end}");
}
