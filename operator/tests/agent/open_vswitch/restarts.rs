//! A switch that is killed and started again at once, under traffic of two pods, many times.

use super::testbed::OvsTestbed;
use crate::support::node::{network, until};
use crate::support::running_agent::RunningAgent;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use usnet_crds::conditions::READY;
use usnet_crds::node_state::NetworkState;
use usnet_crds::{EngineKind, SocketRole};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::port::{PortBackend, SocketPath};
use usnet_test_openvswitch::OpenVswitch;

/// How many restarts: `USNET_RESTARTS`, or a few. The failure that this test was written for came
/// once in eleven.
const RESTARTS: u32 = 3;
/// Longest time until everything is reported as it was, on a busy machine.
const RECOVERED_WITHIN: Duration = Duration::from_secs(20);

/// The programs of two pods in one process, which send to each other.
struct Programs(Child);

impl Programs {
    fn start(testbed: &OvsTestbed, pods: &[Record]) -> Self {
        let folder = testbed.ovs.folder();
        let mut command = Command::new("dpdk-testpmd");
        command.args(["--no-pci", "--no-huge", "--no-telemetry", "-l", "0,1", "-m", "64"]);
        command.arg(format!("--file-prefix=usnet{}", std::process::id())).env("XDG_RUNTIME_DIR", folder);
        for (number, pod) in pods.iter().enumerate() {
            let socket = pod.port.backend.socket_file().unwrap().display();
            command.arg(format!("--vdev=net_virtio_user{number},path={socket},server=1"));
        }
        command.args(["--", "--forward-mode=flowgen", "--stats-period=1", "--auto-start"]);
        command.args(["--total-num-mbufs=2048", "--no-mlockall"]);
        let log = std::fs::File::create(folder.join("testpmd.log")).unwrap();
        // It ends when its input does.
        Self(command.stdin(Stdio::piped()).stdout(log).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

fn pod(testbed: &OvsTestbed, container: &str) -> Record {
    let socket = SocketPath::try_from(testbed.ovs.folder().join(format!("{container}.sock"))).unwrap();
    testbed.record(container, &network("blue"), PortBackend::VhostUser { socket, engine_role: SocketRole::Client })
}

/// What is not as it was before the restart; none when all is.
fn problem(agent: &RunningAgent) -> Option<String> {
    agent.wait_for_report("one", |report| {
        let is_ready = report.findings.iter().any(|finding| finding.kind == READY && finding.reason == "AllProgrammed");
        let is_whole = |entry: &&usnet_crds::node_state::NetworkReport| {
            entry.state == NetworkState::Programmed && entry.connected == 2
        };
        let is_done = is_ready && report.networks.iter().find(is_whole).is_some();
        Some((!is_done).then(|| format!("{:#?}\n{:#?}", report.findings, report.networks)))
    })
}

fn rows(testbed: &OvsTestbed) -> String {
    let interfaces = testbed.vsctl("--columns=name,ofport,error,mtu,link_state,status list Interface");
    format!("{interfaces}\n{}", testbed.vsctl("--columns=next_cfg,cur_cfg list Open_vSwitch"))
}

#[test]
fn a_switch_that_restarts_under_traffic_is_programmed_again_each_time() {
    let restarts = std::env::var("USNET_RESTARTS").map_or(RESTARTS, |text| text.parse().unwrap());
    let mut testbed = OvsTestbed::with(OpenVswitch::builder().dpdk(true).start().unwrap());
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let pods = ["c1", "c2"].map(|container| pod(&testbed, container));
    let _programs = Programs::start(&testbed, &pods);
    pods.iter().for_each(|pod| testbed.write(pod));
    until("both are connected", || problem(&agent).is_none().then_some(()));
    let epoch = agent.epoch(EngineKind::OpenVswitch);
    let mut slowest = Duration::ZERO;
    for restart in 1..=restarts {
        testbed.ovs.kill_vswitchd().unwrap();
        agent.wait_for_connection("NotActing");
        testbed.ovs.start_vswitchd().unwrap();
        let started = Instant::now();
        while let Some(problem) = problem(&agent) {
            let waited = started.elapsed();
            assert!(waited < RECOVERED_WITHIN, "restart {restart}, {waited:?}: {problem}\n{}", rows(&testbed));
            std::thread::sleep(Duration::from_millis(10));
        }
        slowest = slowest.max(started.elapsed());
        assert_eq!(agent.epoch(EngineKind::OpenVswitch), epoch + i64::from(restart));
    }
    println!("{restarts} restarts; everything was reported again after {slowest:?} at the latest");
}
