//! Bridge domains come, stay, are mended and go; those of others are left alone.

use super::on_each_vpp;
use super::world::{VppWorld, domain_id, network};
use crate::node::{network_with, until};
use crate::running_agent::RunningAgent;
use usnet_crds::node_state::NetworkState;
use usnet_crds::{Engine, NodeNetwork, Phase};
use usnet_dataplane::network_file::NetworkFile;
use usnet_vpp::messages::{BdFlags, BridgeDomainAddDelV2, BridgeFlags};

on_each_vpp!(
    a_network_is_promised_once_its_bridge_domain_is_there,
    a_network_that_is_not_asked_for_any_more_goes_with_its_file,
    a_draining_network_keeps_its_bridge_domain_and_takes_no_pods,
    a_removed_or_changed_bridge_domain_is_mended,
    the_bridge_domain_of_somebody_else_is_named_and_left_alone_until_it_goes,
    a_network_that_was_made_anew_with_vpp_moves,
);

fn a_network_is_promised_once_its_bridge_domain_is_there(world: &VppWorld) {
    let agent = RunningAgent::start(&world.roots);
    let blue = network("blue");
    agent.tell(1, std::slice::from_ref(&blue));
    world.wait_until_programmed("blue");
    let domain = world.domains().remove(&domain_id(&blue)).expect("the bridge domain");
    assert_eq!(domain.bd_tag.as_str(), "usnet:blue");
    assert!(domain.learn && domain.flood && domain.forward && domain.uu_flood);
    let Some(NetworkFile::Programmed(file)) = world.file("blue") else { panic!("not programmed") };
    assert_eq!((file.network.engine, file.engine_socket), (Engine::Vpp, world.roots.vpp_socket.clone()));
    let entry = agent.wait_for_network("blue", "is programmed", |entry| entry.state == NetworkState::Programmed);
    assert_eq!((entry.generation, entry.attachments, entry.connected), (1, 0, 0));
    let engine = agent.wait_for_report("VPP is up", |report| report.engines.first().cloned());
    assert!(engine.engine == Engine::Vpp && engine.version.starts_with('2'), "{engine:?}");
}

fn a_network_that_is_not_asked_for_any_more_goes_with_its_file(world: &VppWorld) {
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[network("blue"), network("green")]);
    world.wait_until_programmed("blue");
    world.wait_until_programmed("green");
    agent.tell(2, &[network("green")]);
    agent.wait_for_report("generation 2", |report| (report.observed_generation() == Some(2)).then_some(()));
    assert_eq!(world.domains().into_keys().filter(|id| *id > 0).collect::<Vec<_>>(), [domain_id(&network("green"))]);
    assert_eq!(world.file("blue"), None);
    assert!(world.is_programmed("green"));
}

fn a_draining_network_keeps_its_bridge_domain_and_takes_no_pods(world: &VppWorld) {
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[network("blue")]);
    world.wait_until_programmed("blue");
    agent.tell(2, &[NodeNetwork { phase: Phase::Draining, ..network("blue") }]);
    agent.wait_for_network("blue", "drains", |entry| entry.state == NetworkState::Draining);
    assert!(matches!(world.file("blue"), Some(NetworkFile::Draining { .. })));
    assert!(world.domains().contains_key(&domain_id(&network("blue"))));
}

fn a_removed_or_changed_bridge_domain_is_mended(world: &VppWorld) {
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[network("blue")]);
    world.wait_until_programmed("blue");
    let bd_id = domain_id(&network("blue"));
    world.request(BridgeFlags { bd_id, is_set: false, flags: BdFlags::LEARN });
    until("it learns again", || world.domains().get(&bd_id)?.learn.then_some(()));
    world.request(BridgeDomainAddDelV2 { bd_id, ..BridgeDomainAddDelV2::default() });
    until("it is there again", || (world.domains().get(&bd_id)?.bd_tag.as_str() == "usnet:blue").then_some(()));
    agent.wait_for_network("blue", "is programmed", |entry| entry.state == NetworkState::Programmed);
}

fn the_bridge_domain_of_somebody_else_is_named_and_left_alone_until_it_goes(world: &VppWorld) {
    let bd_id = domain_id(&network("blue"));
    let foreign =
        BridgeDomainAddDelV2 { bd_id, is_add: true, bd_tag: "theirs".try_into().unwrap(), ..Default::default() };
    world.request(foreign);
    let before = world.domains();
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[network("blue"), network("green")]);
    let entry = agent.wait_for_network("blue", "failed", |entry| entry.state == NetworkState::Failed);
    assert_eq!(entry.reason, "BridgeExists");
    assert!(entry.message.contains(&bd_id.to_string()), "{}", entry.message);
    assert_eq!(world.wait_until_unavailable("blue"), "BridgeExists");
    world.wait_until_programmed("green");
    agent.tell(2, &[network("blue")]);
    agent.wait_for_report("generation 2", |report| (report.observed_generation() == Some(2)).then_some(()));
    assert_eq!(world.domains(), before);

    world.request(BridgeDomainAddDelV2 { bd_id, ..BridgeDomainAddDelV2::default() });
    world.wait_until_programmed("blue");
}

fn a_network_that_was_made_anew_with_vpp_moves(world: &VppWorld) {
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[network_with(Engine::OpenVswitch, "blue")]);
    assert_eq!(world.wait_until_unavailable("blue"), "EngineUnreachable");
    agent.tell(2, &[network("blue")]);
    world.wait_until_programmed("blue");
    let names = |report: &usnet_operator::agent::spec::Report| report.networks.len();
    let count = agent
        .wait_for_report("generation 2", |report| (report.observed_generation() == Some(2)).then(|| names(report)));
    assert_eq!(count, 1);
    agent.tell(3, &[network_with(Engine::OpenVswitch, "blue")]);
    assert_eq!(world.wait_until_unavailable("blue"), "EngineUnreachable");
    until("VPP lets go of it", || (!world.domains().contains_key(&domain_id(&network("blue")))).then_some(()));
}
