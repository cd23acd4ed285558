//! Bridge domains are created, kept, repaired and removed; those not owned by usnet are left alone.

use super::on_each_vpp;
use super::testbed::{VppTestbed, domain_id, network};
use crate::support::node::{network_with, until};
use crate::support::running_agent::RunningAgent;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use usnet_crds::node_state::NetworkState;
use usnet_crds::{EngineKind, NodeNetwork, Phase};
use usnet_dataplane::network_file::NetworkFile;
use usnet_test_vpp::{Kind, LogEntry};
use usnet_vpp::messages::{BdFlags, BridgeDomainAddDelV2, BridgeFlags};

on_each_vpp!(
    a_network_is_programmed_once_its_bridge_domain_exists,
    a_network_that_is_no_longer_desired_is_removed_with_its_file,
    a_draining_network_keeps_its_bridge_domain_and_accepts_no_pods,
    a_removed_or_changed_bridge_domain_is_repaired,
    a_bridge_domain_not_owned_by_usnet_is_reported_and_left_alone_until_it_is_removed,
    a_network_that_was_recreated_with_vpp_moves,
    many_networks_come_and_go_one_by_one,
);

fn a_network_is_programmed_once_its_bridge_domain_exists(testbed: &VppTestbed) {
    let agent = RunningAgent::start(&testbed.paths);
    let blue = network("blue");
    agent.set_spec(1, std::slice::from_ref(&blue));
    testbed.wait_until_programmed("blue");
    let domain = testbed.domains().remove(&domain_id(&blue)).expect("the bridge domain");
    assert_eq!(domain.bd_tag.as_str(), "usnet:blue");
    assert!(domain.learn && domain.flood && domain.forward && domain.uu_flood);
    let Some(NetworkFile::Programmed(file)) = testbed.file("blue") else { panic!("not programmed") };
    assert_eq!(
        (file.network.engine, file.engine_socket),
        (EngineKind::Vpp, testbed.paths.engine_socket(EngineKind::Vpp))
    );
    let entry = agent.wait_for_network("blue", "is programmed", |entry| entry.state == NetworkState::Programmed);
    assert_eq!((entry.generation, entry.attachments, entry.connected), (1, 0, 0));
    let engine = agent.wait_for_report("VPP is up", |report| report.engines.first().cloned());
    assert!(engine.engine == EngineKind::Vpp && engine.version.starts_with('2'), "{engine:?}");
}

fn a_network_that_is_no_longer_desired_is_removed_with_its_file(testbed: &VppTestbed) {
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue"), network("green")]);
    testbed.wait_until_programmed("blue");
    testbed.wait_until_programmed("green");
    agent.set_spec(2, &[network("green")]);
    agent.wait_for_report("generation 2", |report| (report.observed_generation() == Some(2)).then_some(()));
    assert_eq!(testbed.domains().into_keys().filter(|id| *id > 0).collect::<Vec<_>>(), [domain_id(&network("green"))]);
    assert_eq!(testbed.file("blue"), None);
    assert!(testbed.is_programmed("green"));
}

fn a_draining_network_keeps_its_bridge_domain_and_accepts_no_pods(testbed: &VppTestbed) {
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    agent.set_spec(2, &[NodeNetwork { phase: Phase::Draining, ..network("blue") }]);
    agent.wait_for_network("blue", "drains", |entry| entry.state == NetworkState::Draining);
    assert!(matches!(testbed.file("blue"), Some(NetworkFile::Draining { .. })));
    assert!(testbed.domains().contains_key(&domain_id(&network("blue"))));
}

fn a_removed_or_changed_bridge_domain_is_repaired(testbed: &VppTestbed) {
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let bd_id = domain_id(&network("blue"));
    testbed.request(BridgeFlags { bd_id, is_set: false, flags: BdFlags::LEARN });
    until("it learns again", || testbed.domains().get(&bd_id)?.learn.then_some(()));
    testbed.request(BridgeDomainAddDelV2 { bd_id, ..BridgeDomainAddDelV2::default() });
    until("it is there again", || (testbed.domains().get(&bd_id)?.bd_tag.as_str() == "usnet:blue").then_some(()));
    agent.wait_for_network("blue", "is programmed", |entry| entry.state == NetworkState::Programmed);
}

fn a_bridge_domain_not_owned_by_usnet_is_reported_and_left_alone_until_it_is_removed(testbed: &VppTestbed) {
    let bd_id = domain_id(&network("blue"));
    let foreign =
        BridgeDomainAddDelV2 { bd_id, is_add: true, bd_tag: "theirs".try_into().unwrap(), ..Default::default() };
    testbed.request(foreign);
    let before = testbed.domains();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue"), network("green")]);
    let entry = agent.wait_for_network("blue", "failed", |entry| entry.state == NetworkState::Failed);
    assert_eq!(entry.reason, "BridgeExists");
    assert!(entry.message.contains(&bd_id.to_string()), "{}", entry.message);
    assert_eq!(testbed.wait_until_unavailable("blue"), "BridgeExists");
    testbed.wait_until_programmed("green");
    agent.set_spec(2, &[network("blue")]);
    agent.wait_for_report("generation 2", |report| (report.observed_generation() == Some(2)).then_some(()));
    assert_eq!(testbed.domains(), before);

    testbed.request(BridgeDomainAddDelV2 { bd_id, ..BridgeDomainAddDelV2::default() });
    testbed.wait_until_programmed("blue");
}

fn a_network_that_was_recreated_with_vpp_moves(testbed: &VppTestbed) {
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network_with(EngineKind::OpenVswitch, "blue")]);
    assert_eq!(testbed.wait_until_unavailable("blue"), "EngineUnreachable");
    agent.set_spec(2, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let names = |report: &usnet_agent::model::report::Report| report.networks.len();
    let count = agent
        .wait_for_report("generation 2", |report| (report.observed_generation() == Some(2)).then(|| names(report)));
    assert_eq!(count, 1);
    agent.set_spec(3, &[network_with(EngineKind::OpenVswitch, "blue")]);
    assert_eq!(testbed.wait_until_unavailable("blue"), "EngineUnreachable");
    until("VPP has removed it", || (!testbed.domains().contains_key(&domain_id(&network("blue")))).then_some(()));
}

/// Each network is a spec of its own, between two full observations of VPP.
fn many_networks_come_and_go_one_by_one(testbed: &VppTestbed) {
    let agent = RunningAgent::start(&testbed.paths);
    let all: Vec<NodeNetwork> = ["amber", "blue", "coral", "dun", "ecru"].map(network).into();
    let counts = (1..=all.len()).chain((0..all.len()).rev());
    for (revision, count) in (1..).zip(counts) {
        let some: Vec<_> = all.iter().take(count).cloned().collect();
        agent.set_spec(revision, &some);
        agent.wait_for_report("it is done", |report| {
            let is_done = report.networks.iter().all(|entry| entry.state == NetworkState::Programmed);
            (report.observed_generation() == Some(revision.into()) && is_done).then_some(())
        });
        let created: Vec<_> = testbed.domains().into_values().filter(|domain| domain.bd_id > 0).collect();
        let tags: Vec<_> = created.iter().map(|domain| domain.bd_tag.to_string()).collect();
        let expected: Vec<_> = some.iter().map(|network| format!("usnet:{}", network.name)).collect();
        assert_eq!(tags.iter().collect::<BTreeSet<_>>(), expected.iter().collect::<BTreeSet<_>>());
        assert!(some.iter().all(|network| testbed.is_programmed(network.name.as_str())));
    }
}

/// With 1,000 of them on a node, reading all bridge domains takes as long as everything else that a
/// new one needs.
#[test]
fn one_more_network_among_many_reads_its_own_bridge_domain_alone() {
    let testbed = VppTestbed::start(Kind::Simulator, &[]).unwrap();
    let agent = RunningAgent::start(&testbed.paths);
    let mut networks = Vec::new();
    // There is a poll between any two networks only if the machine is very busy.
    let is_read_alone = (1..10).any(|revision| {
        networks.push(network(&format!("net-{revision}")));
        agent.set_spec(revision, &networks);
        testbed.wait_until_programmed(&format!("net-{revision}"));
        let log = testbed.vpp.simulator().unwrap().log();
        let creations: Vec<_> =
            (0..log.len()).filter(|index| log[*index].message == "bridge_domain_add_del_v2").collect();
        assert_eq!(creations.len(), networks.len());
        let [.., before_the_last, _] = creations[..] else { return false };
        !log[before_the_last..].iter().any(reads_everything)
    });
    assert!(is_read_alone, "everything was read for each network");
}

fn reads_everything(entry: &LogEntry) -> bool {
    entry.message == "sw_interface_dump"
}

#[test]
fn the_agents_own_network_files_are_no_reason_to_observe_vpp() {
    let testbed = VppTestbed::start(Kind::Simulator, &[]).unwrap();
    let agent = RunningAgent::start(&testbed.paths);
    let reads = || testbed.vpp.simulator().unwrap().log().iter().filter(|entry| reads_everything(entry)).count();
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let before = reads();
    until("it is polled", || (reads() > before).then_some(()));
    // The next poll is 2 s later.
    agent.set_spec(2, &[network("blue"), network("green")]);
    testbed.wait_until_programmed("green");
    let (before, started) = (reads(), Instant::now());
    until("it is polled again", || (reads() > before).then_some(()));
    assert!(started.elapsed() > Duration::from_secs(1), "what the agent wrote itself made it work again");
}
