//! A switch that is killed and started again at once, under traffic of two pods, many times.

use super::programs::{Programs, pod};
use super::testbed::OvsTestbed;
use crate::support::node::{network, until};
use crate::support::restarts::{self, Restarts};
use crate::support::running_agent::RunningAgent;
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use usnet_crds::EngineKind;
use usnet_crds::conditions::NETWORKS_PROGRAMMED;
use usnet_crds::node_state::NetworkState;
use usnet_dataplane::attachment::Record;
use usnet_test_openvswitch::OpenVswitch;

/// Longest time until everything is reported as it was, on a busy machine.
const RECOVERED_WITHIN: Duration = Duration::from_secs(20);

/// What differs from the state before the restart; none if nothing does.
fn problem(agent: &RunningAgent) -> Option<String> {
    agent.wait_for_report("one", |report| {
        let is_all = |kind: &str, reason: &str| kind == NETWORKS_PROGRAMMED && reason == "AllProgrammed";
        let is_ready = report.findings.iter().any(|finding| is_all(finding.kind, &finding.reason));
        let is_whole = |entry: &usnet_crds::node_state::NetworkReport| {
            entry.state == NetworkState::Programmed && entry.connected == 2
        };
        let is_done = is_ready && report.networks.iter().any(|entry| is_whole(entry));
        Some((!is_done).then(|| format!("{:#?}\n{:#?}", report.findings, report.networks)))
    })
}

fn rows(testbed: &OvsTestbed) -> String {
    let interfaces = testbed.vsctl("--columns=name,ofport,error,mtu,link_state,status list Interface");
    format!("{interfaces}\n{}", testbed.vsctl("--columns=next_cfg,cur_cfg list Open_vSwitch"))
}

/// When a switch was available again.
struct Return {
    /// When its control socket accepted connections.
    socket: Instant,
    /// When its datapath had all ports.
    ports: Instant,
}

fn watch_return(testbed: &OvsTestbed, pods: &[Record]) -> JoinHandle<Return> {
    let control_socket = testbed.ovs.control_socket().to_owned();
    let names: Vec<String> = pods.iter().map(|pod| pod.port.name.to_string()).collect();
    thread::spawn(move || {
        let socket = restarts::await_socket(&control_socket);
        until("the datapath has the ports", || {
            let target = format!("--target={}", control_socket.display());
            let observed = Command::new("ovs-appctl").args([&target, "dpif/show"]).output().unwrap();
            let observed = String::from_utf8_lossy(&observed.stdout).into_owned();
            names.iter().all(|name| observed.contains(name.as_str())).then_some(())
        });
        Return { socket, ports: Instant::now() }
    })
}

/// The failure that this test was written for came once in eleven restarts.
#[test]
fn a_switch_that_restarts_under_traffic_is_programmed_again_each_time() {
    let mut testbed = OvsTestbed::with(OpenVswitch::builder().dpdk(true).start().unwrap());
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let pods = ["c1", "c2"].map(|container| pod(&testbed, container));
    let _programs = Programs::with_traffic(&testbed, &pods);
    pods.iter().for_each(|pod| testbed.write(pod));
    until("both are connected", || problem(&agent).is_none().then_some(()));
    let epoch = agent.epoch(EngineKind::OpenVswitch);
    let mut times = Restarts::of("ovs-vswitchd");
    for restart in 1..=restarts::number() {
        let killed = Instant::now();
        testbed.ovs.kill_vswitchd().unwrap();
        agent.wait_for_connection("NotActing");
        times.not_ready.add(killed.elapsed());
        let end = agent.wait_for_end_of(EngineKind::OpenVswitch, restart.into());
        assert!(end.contains("default/c1 (net1)") && end.contains("default/c2 (net1)"), "{end}");
        assert!(end.contains("connected last: ") && !end.contains("not connected"), "{end}");
        let returned = watch_return(&testbed, &pods);
        testbed.ovs.start_vswitchd().unwrap();
        let started = Instant::now();
        while let Some(problem) = problem(&agent) {
            let waited = started.elapsed();
            assert!(waited < RECOVERED_WITHIN, "restart {restart}, {waited:?}: {problem}\n{}", rows(&testbed));
            thread::sleep(Duration::from_millis(10));
        }
        let ready = Instant::now();
        let Return { socket, ports } = returned.join().unwrap();
        times.ports.add(ports - socket);
        times.ready.add(ready - socket);
        assert_eq!(agent.epoch(EngineKind::OpenVswitch), epoch + i64::from(restart));
    }
    println!("{times}");
}
