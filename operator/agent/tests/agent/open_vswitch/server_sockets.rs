//! Ports on which the switch listens: programs connect again after it was killed, at the same
//! place.

use super::programs::{Programs, SOCKET, server_socket, vhost_user};
use super::testbed::OvsTestbed;
use crate::support::node::{network, until};
use crate::support::running_agent::RunningAgent;
use std::os::unix::net::UnixStream;
use std::time::Instant;
use usnet_crds::{EngineKind, SocketRole};
use usnet_dataplane::attachment::Record;
use usnet_test_openvswitch::OpenVswitch;

fn is_listening(testbed: &OvsTestbed, pod: &Record) -> bool {
    UnixStream::connect(server_socket(testbed, pod).folder().join(SOCKET)).is_ok()
}

/// The program's own count: Open vSwitch 3.1 does not count the packets of such ports.
fn await_traffic(programs: &Programs) {
    until("packets flow both ways", || {
        let received = programs.received();
        (received.len() == 2 && received.iter().all(|packets| *packets >= 100_000)).then_some(())
    });
}

#[test]
fn programs_reach_the_switch_at_the_same_place_after_it_was_killed() {
    let mut testbed = OvsTestbed::with(OpenVswitch::builder().dpdk(true).start().unwrap());
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let pods = ["c1", "c2"].map(|container| {
        let backend = vhost_user(&testbed, container, SocketRole::Server);
        testbed.record(container, &network("blue"), backend)
    });
    pods.iter().for_each(|pod| testbed.write(pod));
    // As the plugin does it.
    until("the plugin has the sockets", || {
        pods.iter()
            .all(|pod| {
                let socket = server_socket(&testbed, pod);
                socket.folder().join(SOCKET).exists() || socket.take(SOCKET).unwrap()
            })
            .then_some(())
    });
    let programs = Programs::with_traffic(&testbed, &pods);
    await_traffic(&programs);
    drop(programs);
    for restart in 1..=2 {
        testbed.ovs.kill_vswitchd().unwrap();
        agent.wait_for_end_of(EngineKind::OpenVswitch, restart);
        testbed.ovs.start_vswitchd().unwrap();
        let started = Instant::now();
        until("the switch listens at the same place", || {
            pods.iter().all(|pod| is_listening(&testbed, pod)).then_some(())
        });
        println!("restart {restart}: the switch listens again {:?} after its start", started.elapsed());
        await_traffic(&Programs::with_traffic(&testbed, &pods));
    }
}
