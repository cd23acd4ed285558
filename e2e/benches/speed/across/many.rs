//! A thousand overlays with twenty peers each onto an empty node: the agent, from its start to the
//! last network file, against raw netlink messages and one transaction.

use super::nodes::Node;
use super::raw::{Devices, add_bridges};
use super::{is_short, usnet};
use crate::bulk::open_vswitch::{await_files, start_agent};
use crate::host::programs::Programs;
use crate::report::Targets;
use crate::report::lines::{ratio, report};
use crate::report::statistics::{median, times};
use std::sync::Arc;
use std::time::{Duration, Instant};
use usnet_crds::EngineKind;
use usnet_dataplane::node_file::NodeFile;
use usnet_dataplane::paths::NodePaths;

const PEERS: u16 = 20;
const AIM: f64 = 1.5;

pub(crate) fn run(programs: &Programs, targets: &mut Targets) {
    let (networks, turns) = if is_short() { (20, 1) } else { (1000, 3) };
    let (mut ours, mut messages, mut raw) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..turns {
        eprintln!("{networks} overlays, turn {turn}");
        ours.push(agent(programs, networks));
        let (devices, bridges) = by_messages(networks);
        messages.push(devices);
        raw.push(devices + bridges);
    }
    let (ours, messages, raw) = (median(&ours), median(&messages), median(&raw));
    println!("\n{networks} overlays with {PEERS} peers each onto an empty node, median of {turns}, in turn");
    report("agent: from its start to the last network file", ours);
    report("raw: netlink messages, one transaction, until the switch has acted", raw);
    report("of which the netlink messages", messages);
    ratio("agent / raw", ours, raw, "at most 1.5");
    targets.check("overlays: agent / raw", format!("{networks} networks, {PEERS} peers"), times(ours, raw), AIM);
}

fn agent(programs: &Programs, networks: usize) -> Duration {
    let node = Node::alone();
    let folder = tempfile::tempdir().expect("a folder");
    let roots = NodePaths::below(folder.path()).with_socket(EngineKind::OpenVswitch, node.socket());
    let overlay = |number: usize| {
        let vni = 7000 + i64::try_from(number).expect("a small number");
        let name = format!("net-{number}");
        Arc::new(usnet::overlay((node.kind(), &name), vni, node.address, usnet::peers(PEERS)))
    };
    let networks: Vec<_> = (0..networks).map(overlay).collect();
    let names: Vec<_> = networks.iter().map(|network| network.name.clone()).collect();
    let file = NodeFile {
        version: NodeFile::VERSION,
        generation: 1,
        networks,
        engines_seen: [EngineKind::OpenVswitch].into(),
        ..NodeFile::default()
    };
    file.write(&roots).expect("the node file");
    let start = Instant::now();
    let mut child = node.within(|| start_agent(programs, &roots, folder.path()));
    await_files(&roots, &mut child, &names);
    let took = start.elapsed();
    child.kill().and_then(|()| child.wait()).expect("the agent ends");
    took
}

/// What the netlink messages take, and the transaction.
fn by_messages(networks: usize) -> (Duration, Duration) {
    let node = Node::alone();
    let names: Vec<String> = (0..networks).map(|number| format!("vx{number}")).collect();
    let start = Instant::now();
    node.within(|| {
        let mut devices = Devices::open();
        for (name, vni) in names.iter().zip(7000..) {
            let device = devices.create(name, vni, node.address);
            usnet::peers(PEERS).for_each(|peer| devices.add_peer(device, peer));
        }
    });
    let messages = start.elapsed();
    add_bridges(&node, &names);
    (messages, start.elapsed() - messages)
}
