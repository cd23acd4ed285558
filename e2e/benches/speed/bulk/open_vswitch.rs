//! A thousand networks onto an empty node: the agent, from its start to the last network file,
//! against one raw transaction and `ovs-vsctl`.

use crate::calls::pod;
use crate::host::programs::{Programs, timed};
use crate::report::lines::{ratio, report};
use crate::report::statistics::median;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, thread};
use usnet_crds::{EngineKind, NetworkName, NodeNetwork};
use usnet_dataplane::network_file::{NetworkFile, NetworkFiles};
use usnet_dataplane::node_file::NodeFile;
use usnet_dataplane::paths::NodePaths;
use usnet_ovsdb::blocking::Client;
use usnet_ovsdb::{Condition, Mutation, Row, Transaction, Value};
use usnet_test_openvswitch::OpenVswitch;

const NETWORKS: usize = 1000;
const SAMPLES: usize = 20;
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn run(programs: &Programs) {
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        ours.push(agent(programs));
        raw.push(raw_transaction());
    }
    let (ours, raw, vsctl) = (median(&ours), median(&raw), vsctl());
    println!("\n{NETWORKS} networks onto an empty node, median of 3, in turn");
    report("agent: from its start to the last network file", ours);
    report("one raw transaction with the same bridges, until the switch has acted", raw);
    report(
        &format!("ovs-vsctl add-br, one by one ({SAMPLES} each at 0 and at {NETWORKS} bridges, times {NETWORKS})"),
        vsctl,
    );
    ratio("agent / raw transaction", ours, raw, "at most 1.5");
    ratio("ovs-vsctl / agent", vsctl, ours, "as large as can be");
}

fn network(index: usize) -> NodeNetwork {
    pod::network(EngineKind::OpenVswitch, &format!("net-{index}"))
}

/// The real agent, as it comes up on a node whose last networks it has on disk, with no API server
/// to be seen.
fn agent(programs: &Programs) -> Duration {
    let switch = OpenVswitch::builder().dpdk(true).start().expect("Open vSwitch starts");
    let folder = tempfile::tempdir().expect("a folder");
    let roots = NodePaths::below(folder.path()).with_socket(EngineKind::OpenVswitch, switch.socket());
    let node = NodeFile {
        version: NodeFile::VERSION,
        generation: 1,
        networks: (0..NETWORKS).map(network).map(Arc::new).collect(),
        engines_seen: [EngineKind::OpenVswitch].into(),
        ..NodeFile::default()
    };
    node.write(&roots).expect("the node file");
    let names: Vec<_> = node.networks.iter().map(|network| network.name.clone()).collect();
    let start = Instant::now();
    let mut child = start_agent(programs, &roots, folder.path());
    await_files(&roots, &mut child, &names);
    let took = start.elapsed();
    // At rest: nothing has changed for a second.
    thread::sleep(Duration::from_secs(1));
    println!("agent with {NETWORKS} networks: {}", resident(child.id()));
    child.kill().and_then(|()| child.wait()).expect("the agent ends");
    took
}

/// An agent that has nothing but the files of its node.
pub(crate) fn start_agent(programs: &Programs, roots: &NodePaths, folder: &Path) -> Child {
    let kubeconfig = folder.join("kubeconfig");
    // A closed port: the agent must do its work without an API server.
    let absent = "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], \
                  clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}], users: [{name: u, user: {}}]}";
    fs::write(&kubeconfig, absent).expect("a kubeconfig");
    Command::new(&programs.usnet)
        .args(["agent", "--node-name", "bench"])
        .env("KUBECONFIG", kubeconfig)
        .env("USNET_RUN_DIR", &roots.run)
        .env("USNET_STATE_DIR", &roots.state)
        .env("USNET_OVS_SOCKET", roots.engine_socket(EngineKind::OpenVswitch))
        .env("RUST_LOG", "error")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the agent starts")
}

/// Waits until pods may attach to all of these.
pub(crate) fn await_files(roots: &NodePaths, child: &mut Child, networks: &[NetworkName]) {
    let (files, end) = (NetworkFiles::new(roots), Instant::now() + PATIENCE);
    let programmed = |name: &NetworkName| matches!(files.read(name), Ok(Some(NetworkFile::Programmed(_))));
    while !networks.iter().rev().all(programmed) {
        assert!(child.try_wait().expect("the agent's state").is_none(), "the agent ended");
        assert!(Instant::now() < end, "the agent did not programme {} networks within {PATIENCE:?}", networks.len());
        thread::sleep(Duration::from_millis(5));
    }
}

/// The resident memory of a process, as the kernel prints it.
fn resident(process: u32) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the process runs");
    status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default().replace('\t', " ")
}

fn raw_transaction() -> Duration {
    let switch = OpenVswitch::start().expect("Open vSwitch starts");
    let start = Instant::now();
    add_bridges(&switch);
    start.elapsed()
}

fn add_bridges(switch: &OpenVswitch) {
    let mut client = Client::connect(switch.socket(), PATIENCE).expect("the database answers");
    let mut transaction = Transaction::new();
    for index in 0..NETWORKS {
        let name = network(index).bridge.name.to_string();
        let row = || Row::new().with("name", name.as_str());
        let interface = transaction.insert("Interface", row().with("type", "internal").with("mtu_request", 1500));
        let port = transaction.insert("Port", row().with("interfaces", interface));
        let mark = Value::map([("usnet.dev/network", name.as_str())]);
        let bridge = row().with("datapath_type", "netdev").with("ports", port).with("external_ids", mark);
        let bridge = transaction.insert("Bridge", bridge);
        let _one = transaction.mutate("Open_vSwitch", vec![], vec![Mutation::insert("bridges", bridge)]);
    }
    let next = transaction.bump_next_cfg();
    let reply = client.transact(&transaction).expect("the bridges are recorded");
    let mut wait = Transaction::new();
    wait.wait_for_cur_cfg(reply.next_cfg(next).expect("next_cfg"), PATIENCE);
    let running = wait.select("Bridge", vec![Condition::equal("datapath_id", Value::empty())], &["name"]);
    let reply = client.transact(&wait).expect("the switch acts");
    assert!(reply.raw_rows(running).expect("the bridges").is_empty(), "every bridge runs");
}

/// What a thousand calls would take: each costs more the more bridges there are, so the mean of the
/// first and the last ones counts.
fn vsctl() -> Duration {
    let switch = OpenVswitch::start().expect("Open vSwitch starts");
    let sample = |start: usize| -> Duration { (start..start + SAMPLES).map(|index| add_bridge(&switch, index)).sum() };
    let first = sample(10_000);
    add_bridges(&switch);
    let last = sample(20_000);
    (first + last).mul_f64(NETWORKS as f64 / (2 * SAMPLES) as f64)
}

fn add_bridge(switch: &OpenVswitch, index: usize) -> Duration {
    let name = format!("br-{index}");
    let mut command = Command::new("ovs-vsctl");
    command.arg(format!("--db=unix:{}", switch.socket().display())).args(["add-br", &name, "--"]).args([
        "set",
        "Bridge",
        &name,
        "datapath_type=netdev",
    ]);
    timed(&mut command).0
}
