//! A VPP that is killed and started again at once, many times.

use super::on_each_vpp;
use super::testbed::{VppTestbed, network};
use crate::support::node::until;
use crate::support::restarts::{self, Restarts};
use crate::support::running_agent::RunningAgent;
use std::time::Instant;
use usnet_crds::EngineKind;
use usnet_crds::conditions::NETWORKS_PROGRAMMED;
use usnet_crds::conditions::reason::ALL_PROGRAMMED;

on_each_vpp!(a_vpp_that_restarts_has_its_ports_and_is_ready_again_each_time);

const PODS: usize = 10;

fn await_ready(agent: &RunningAgent, is_ready: bool) {
    agent.wait_for_report(&format!("Ready: {is_ready}"), |report| {
        let is_all = |kind: &str, reason: &str| kind == NETWORKS_PROGRAMMED && reason == ALL_PROGRAMMED;
        let found = report.findings.iter().any(|finding| is_all(finding.kind, &finding.reason));
        (found == is_ready).then_some(())
    });
}

#[expect(clippy::print_stdout, reason = "the times are what make faults is for")]
fn a_vpp_that_restarts_has_its_ports_and_is_ready_again_each_time(testbed: &mut VppTestbed) {
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    for number in 0..PODS {
        testbed.write(&testbed.pod(&format!("c{number}"), &network("blue")));
    }
    let await_ports = |testbed: &VppTestbed| until("all have a port", || (testbed.ports().len() == PODS).then_some(()));
    await_ports(testbed);
    await_ready(&agent, true);
    let epoch = agent.epoch(EngineKind::Vpp);
    let mut times = Restarts::of("VPP");
    for restart in 1..=restarts::number() {
        let killed = Instant::now();
        testbed.vpp.kill().unwrap();
        await_ready(&agent, false);
        times.not_ready.add(killed.elapsed());

        let socket = restarts::watch_socket(testbed.vpp.socket().to_owned());
        testbed.vpp.start_again().unwrap();
        let socket = socket.join().unwrap();
        await_ports(testbed);
        times.ports.add(socket.elapsed());
        await_ready(&agent, true);
        times.ready.add(socket.elapsed());
        assert_eq!(agent.epoch(EngineKind::Vpp), epoch + i64::from(restart));
    }
    println!("{times}");
}
