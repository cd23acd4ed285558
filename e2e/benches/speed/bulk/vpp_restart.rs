//! VPP dies and comes back empty: until all ports of a thousand pods are back and their network
//! files say so, against the same messages raw and pipelined.

use super::running_agent::{RunningAgent, roots};
use crate::calls::{pod, vpp_messages};
use crate::report::lines::{ratio, report};
use crate::report::statistics::median;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use usnet_crds::{EngineKind, NodeNetwork};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::memif::MemifSocket;
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::port::PortBackend;
use usnet_dataplane::testing::record_with;
use usnet_test_vpp::{Kind, Vpp};
use usnet_vpp::Batch;
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::{MemifDump, NO_BRIDGE_DOMAIN};

const ATTACHMENTS: usize = 1000;
const NETWORKS: usize = 10;
const TURNS: usize = 5;
const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn run(kind: Kind) {
    let mut vpp = Vpp::start(kind).expect("VPP starts");
    let networks: Vec<_> = (0..NETWORKS).map(|index| pod::network(EngineKind::Vpp, &format!("net-{index}"))).collect();
    let (folders, roots) = roots(&vpp);
    fill_journal(&roots, &vpp, &networks);
    let mut agent = RunningAgent::start((folders, roots));
    agent.tell(&networks);
    agent.wait(&networks, true);

    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        vpp.kill().expect("VPP ends");
        agent.wait(&networks, false);
        vpp.start_again().expect("VPP starts");
        let start = Instant::now();
        ours.push(agent.wait(&networks, true) - start);
        assert_eq!(memifs(&vpp), ATTACHMENTS);
        raw.push(raw_messages(kind));
    }
    let (ours, raw) = (median(&ours), median(&raw));
    println!("\n{ATTACHMENTS} attachments after kill -9 of VPP, median of {TURNS}, in turn");
    report("agent: from VPP's first answer until all are back and files say so", ours);
    report("the same messages, raw and pipelined, over sockets of a killed VPP", raw);
    ratio("agent / raw messages", ours, raw, "at most 1.5");
}

fn socket(vpp: &Vpp, index: usize) -> PathBuf {
    vpp.folder().join(format!("{index}.sock"))
}

fn fill_journal(roots: &NodePaths, vpp: &Vpp, networks: &[NodeNetwork]) {
    let journal = Journal::open(roots).expect("a journal");
    for index in 0..ATTACHMENTS {
        let socket = MemifSocket::file(socket(vpp, index)).expect("a short path");
        let record = Record {
            engine_socket: roots.engine_socket(EngineKind::Vpp),
            ..record_with(&format!("{index:064x}"), &networks[index % NETWORKS], PortBackend::memif(socket))
        };
        journal.lock(&record.id).and_then(|locked| locked.write(&record)).expect("a record");
    }
}

fn memifs(vpp: &Vpp) -> usize {
    let mut client = vpp.client().expect("VPP answers");
    let mut batch = Batch::new();
    let ticket = batch.dump(MemifDump {});
    vpp_messages::send(&mut client, &batch).details(ticket).expect("memifs").len()
}

/// Also over the socket files of a VPP that was killed: VPP has to check whether another process
/// listens on them.
fn raw_messages(kind: Kind) -> Duration {
    let mut vpp = Vpp::start(kind).expect("VPP starts");
    add_all(&vpp);
    vpp.kill().expect("VPP ends");
    vpp.start_again().expect("VPP starts");
    add_all(&vpp)
}

fn add_all(vpp: &Vpp) -> Duration {
    let paths: Vec<_> = (0..ATTACHMENTS).map(|index| socket(vpp, index)).collect();
    let start = Instant::now();
    let mut client = Client::connect(vpp.socket(), TIMEOUT).expect("VPP answers");
    let mut batch = Batch::new();
    for id in (1..).take(NETWORKS) {
        batch.request(vpp_messages::bridge_domain(id, &format!("usnet:net-{id}")));
    }
    vpp_messages::send(&mut client, &batch);
    let ports: Vec<_> = (1000..).zip(paths.iter().map(PathBuf::as_path)).collect();
    vpp_messages::add_ports(&mut client, 1, &ports);
    assert_eq!(vpp_messages::count_domains(&mut client, NO_BRIDGE_DOMAIN), Ok(NETWORKS));
    start.elapsed()
}
