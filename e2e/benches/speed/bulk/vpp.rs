//! A thousand networks onto an empty VPP: the agent, from when it is told to the last network file,
//! against the same messages raw and pipelined; and one network more.

use super::running_agent::{RunningAgent, roots};
use crate::calls::{pod, vpp_messages};
use crate::report::lines::{ratio, report};
use crate::report::statistics::median;
use std::time::{Duration, Instant};
use usnet_crds::{EngineKind, NodeNetwork};
use usnet_test_vpp::{Kind, Vpp};
use usnet_vpp::Batch;
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::NO_BRIDGE_DOMAIN;

const NETWORKS: usize = 1000;
const TURNS: usize = 5;
/// Of one network more.
const MORE: usize = 20;
const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn run(kind: Kind) {
    let (mut all, mut one_more, mut raw) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let (took, more) = agent(kind);
        all.push(took);
        one_more.extend(more);
        raw.push(raw_messages(kind));
    }
    let (all, raw) = (median(&all), median(&raw));
    println!("\n{NETWORKS} networks onto an empty VPP, median of {TURNS}, in turn");
    report("agent: from being told to the last network file", all);
    report("the same messages, raw and pipelined, and a dump", raw);
    ratio("agent / raw messages", all, raw, "at most 2");
    report("agent: one network more, when there are as many", median(&one_more));
}

fn network(index: usize) -> NodeNetwork {
    let mut network = pod::network(EngineKind::Vpp, &format!("net-{index}"));
    // Of so many, two would choose the same one.
    let id = i64::try_from(index + 1).ok().and_then(|id| usnet_crds::BridgeDomainId::try_from(id).ok());
    network.bridge.name = id.expect("an id").into();
    network
}

fn agent(kind: Kind) -> (Duration, Vec<Duration>) {
    let vpp = Vpp::start(kind).expect("VPP starts");
    let mut agent = RunningAgent::start(roots(&vpp));
    // It is connected once it can programme anything.
    let first = network(NETWORKS + MORE);
    agent.tell(std::slice::from_ref(&first));
    agent.wait(&[first], true);

    let mut networks: Vec<_> = (0..NETWORKS).map(network).collect();
    let told = agent.tell(&networks);
    let took = agent.wait(&networks, true) - told;
    let one_more = |index| {
        networks.push(network(index));
        let told = agent.tell(&networks);
        agent.wait(&networks[index..], true) - told
    };
    (took, (NETWORKS..NETWORKS + MORE).map(one_more).collect())
}

fn raw_messages(kind: Kind) -> Duration {
    let vpp = Vpp::start(kind).expect("VPP starts");
    let mut client = Client::connect(vpp.socket(), TIMEOUT).expect("VPP answers");
    let start = Instant::now();
    let mut batch = Batch::new();
    for index in 0..NETWORKS {
        let NodeNetwork { name, bridge, .. } = network(index);
        let id = bridge.name.as_str().parse().expect("the id of a bridge domain");
        batch.request(vpp_messages::bridge_domain(id, &format!("usnet:{name}")));
    }
    vpp_messages::send(&mut client, &batch);
    assert_eq!(vpp_messages::count_domains(&mut client, NO_BRIDGE_DOMAIN), Ok(NETWORKS));
    start.elapsed()
}
