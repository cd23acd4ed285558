//! Ports for which DPDK has no memory, with the programs of pods.

use super::programs::{Programs, pod};
use super::testbed::OvsTestbed;
use crate::support::node::network;
use crate::support::running_agent::RunningAgent;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use usnet_crds::conditions::reason::NO_MEMORY;
use usnet_crds::node_state::{NetworkReport, NetworkState};
use usnet_dataplane::attachment::{Progress, Record};
use usnet_test_openvswitch::OpenVswitch;

/// Memory for one connected port, in MiB.
const ONE_PORT: u32 = 100;
/// When a port that has no program is reported.
const NOT_CONNECTED: Duration = Duration::from_secs(30);

/// The pods whose port has no memory, if the network works.
fn without_memory(entry: &NetworkReport) -> Option<BTreeSet<&str>> {
    let ports = || entry.degraded.iter().filter(|port| port.reason == NO_MEMORY);
    let is_whole = entry.state == NetworkState::Programmed;
    let says = ports().all(|port| port.message.contains("other_config:dpdk-socket-mem"));
    (is_whole && says).then(|| ports().map(|port| port.pod.as_str()).collect())
}

fn wait_until_without_memory(agent: &RunningAgent, pods: &[&str]) -> Duration {
    let (since, expected) = (Instant::now(), pods.iter().copied().collect());
    agent.wait_for_network("blue", "has these ports without memory", |entry| {
        without_memory(entry).as_ref() == Some(&expected)
    });
    since.elapsed()
}

/// The row of such a port is that of one without a program, once the switch has tried again.
#[test]
fn a_port_without_memory_is_distinguished_from_one_without_a_program() {
    let testbed = OvsTestbed::with(OpenVswitch::builder().dpdk(true).dpdk_memory(ONE_PORT).start().unwrap());
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let [first, second, idle] = ["c1", "c2", "c3"].map(|container| pod(&testbed, container));
    let _programs = Programs::idle(&testbed, &[first.clone(), second.clone()]);
    testbed.write(&first);
    agent.wait_for_network("blue", "is connected", |entry| entry.connected == 1);
    // A third port changes the switch's configuration, which ends the connection of the second.
    [&second, &idle].into_iter().for_each(|pod| testbed.write(pod));
    let reported = wait_until_without_memory(&agent, &["default/c2"]);

    drop(agent);
    testbed.vsctl("set Open_vSwitch . external_ids:changed=1");
    let row = testbed.vsctl(&format!("get Interface {} status", second.port.name));
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(2, &[network("blue")]);
    let reported_again = wait_until_without_memory(&agent, &["default/c2"]);
    println!("NoMemory after {reported:.1?}, by another agent after {reported_again:.1?}, with the row {row}");
    assert!(reported.max(reported_again) < NOT_CONNECTED, "the program would be blamed");

    testbed.write(&Record { progress: Progress::Detached, ..first });
    let _since = wait_until_without_memory(&agent, &[]);
    agent.wait_for_network("blue", "is connected again", |entry| entry.connected == 1);
}
