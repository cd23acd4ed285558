//! Ports of attached pods are kept and mended, those of pods that left are taken away, and who is connected is counted.

use super::on_each_vpp;
use super::program::connect_to;
use super::world::{VppWorld, domain_id, network};
use crate::node::until;
use crate::running_agent::RunningAgent;
use usnet_crds::Mtu;
use usnet_dataplane::attachment::{Progress, Record};
use usnet_vpp::messages::{
    IfStatusFlags, L2PortType, MemifDelete, SwInterfaceSetFlags, SwInterfaceSetL2Bridge, SwInterfaceSetMtu,
    SwInterfaceTagAddDel,
};

on_each_vpp!(
    whatever_somebody_changes_on_a_port_is_mended_in_place,
    a_removed_port_comes_back,
    a_new_mtu_reaches_the_ports_in_place,
    a_detach_that_met_no_vpp_is_finished_when_it_returns,
    what_the_plugin_works_on_is_left_to_it,
    a_new_agent_changes_nothing,
);
on_each_vpp!(with_programs: the_pods_whose_program_is_there_are_counted);

/// Network blue with one attached pod.
fn with_pod(world: &VppWorld) -> (RunningAgent, Record) {
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[network("blue")]);
    world.wait_until_programmed("blue");
    let pod = world.pod("c1", &network("blue"));
    world.write(&pod);
    world.wait_for_port(&pod);
    (agent, pod)
}

fn whatever_somebody_changes_on_a_port_is_mended_in_place(world: &VppWorld) {
    let (agent, pod) = with_pod(world);
    let before = world.wait_for_port(&pod);
    let sw_if_index = before.sw_if_index;
    let mended = |what: &str| until(what, || (world.port(&pod).as_ref() == Some(&before)).then_some(()));
    world.request(SwInterfaceSetFlags { sw_if_index, flags: IfStatusFlags::default() });
    mended("it is up");
    world.request(SwInterfaceSetMtu { sw_if_index, mtu: [1280, 0, 0, 0] });
    mended("it has its MTU");
    let bd_id = domain_id(&network("blue"));
    let port_type = L2PortType::Normal;
    world.request(SwInterfaceSetL2Bridge { rx_sw_if_index: sw_if_index, bd_id, port_type, shg: 0, enable: false });
    mended("it is in its bridge domain");
    world.request(SwInterfaceTagAddDel { is_add: false, sw_if_index, tag: "".try_into().unwrap() });
    mended("it is marked");
    let entry = agent.wait_for_network("blue", "has a pod", |entry| entry.attachments == 1);
    assert_eq!((entry.pods, entry.connected), (vec!["default/c1".to_owned()], 0));
}

fn a_removed_port_comes_back(world: &VppWorld) {
    let (_agent, pod) = with_pod(world);
    let sw_if_index = world.wait_for_port(&pod).sw_if_index;
    world.request(MemifDelete { sw_if_index });
    until("it was gone and is back", || world.port(&pod));
    world.wait_until_programmed("blue");
}

fn a_new_mtu_reaches_the_ports_in_place(world: &VppWorld) {
    let (agent, pod) = with_pod(world);
    let before = world.wait_for_port(&pod);
    let mut changed = network("blue");
    changed.generation = 2;
    changed.bridge.mtu = Mtu::try_from(1400).unwrap();
    agent.tell(2, &[changed]);
    until("the port has the new MTU", || (world.port(&pod)?.mtu == 1400).then_some(()));
    assert_eq!(world.wait_for_port(&pod).sw_if_index, before.sw_if_index, "the port was made anew");
}

fn a_detach_that_met_no_vpp_is_finished_when_it_returns(world: &mut VppWorld) {
    let (_agent, pod) = with_pod(world);
    world.vpp.kill().unwrap();
    assert_eq!(world.wait_until_unavailable("blue"), "EngineUnreachable");
    world.write(&Record { progress: Progress::Detached, ..pod.clone() });
    world.vpp.start_again().unwrap();
    until("the record is gone", || world.records().is_empty().then_some(()));
    assert_eq!(world.port(&pod), None);
}

fn what_the_plugin_works_on_is_left_to_it(world: &VppWorld) {
    let (_agent, pod) = with_pod(world);
    let journal = usnet_dataplane::journal::Journal::open(&world.roots).unwrap();
    let busy = journal.lock(&pod.id).unwrap();
    busy.write(&Record { progress: Progress::Detaching, ..pod.clone() }).unwrap();
    // Another pod's port comes after the agent has seen the first one's record.
    let other = world.pod("c2", &network("blue"));
    world.write(&other);
    world.wait_for_port(&other);
    assert!(world.port(&pod).is_some(), "the agent took the port from under the plugin");
    busy.write(&Record { progress: Progress::Detached, ..pod.clone() }).unwrap();
    drop(busy);
    until("the agent finishes what was left", || world.port(&pod).is_none().then_some(()));
    until("the record is gone", || (world.records().len() == 1).then_some(()));
}

fn a_new_agent_changes_nothing(world: &VppWorld) {
    let (agent, _pod) = with_pod(world);
    world.write(&world.pod("c2", &network("blue")));
    until("both have a port", || (world.ports().len() == 2).then_some(()));
    agent.wait_for_network("blue", "has two pods", |entry| entry.attachments == 2);
    drop(agent);
    let shown = || (world.domains(), world.interfaces(), world.ports(), world.changes());
    let before = shown();
    let agent = RunningAgent::start(&world.roots);
    let attachments = agent.wait_for_report("network blue", |report| Some(report.networks.first()?.attachments));
    assert_eq!(attachments, 2);
    agent.tell(2, &[network("blue")]);
    agent.wait_for_report("generation 2", |report| (report.observed_generation() == Some(2)).then_some(()));
    assert_eq!(shown(), before);
}

fn the_pods_whose_program_is_there_are_counted(world: &VppWorld) {
    let (agent, pod) = with_pod(world);
    world.write(&world.pod("c2", &network("blue")));
    agent.wait_for_network("blue", "has two pods", |entry| (entry.attachments, entry.connected) == (2, 0));
    let program = connect_to(&pod.port.backend);
    agent.wait_for_network("blue", "has one program", |entry| entry.connected == 1);
    drop(program);
    agent.wait_for_network("blue", "has lost it", |entry| entry.connected == 0);
    assert!(world.is_programmed("blue"));
}
