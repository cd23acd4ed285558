use super::*;
use crate::agent::testing::{name, network, network_with, roots};
use std::fs;
use usnet_crds::Engine;

fn draining(network_name: &str) -> NodeNetwork {
    NodeNetwork { phase: Phase::Draining, ..network(network_name) }
}

fn files(networks: &[NodeNetwork], verdict: &Verdict) -> Files {
    let verdicts = networks.iter().map(|network| (network.name.clone(), verdict.clone())).collect();
    let memif_socket_ids = MemifSocketIds::default();
    let access = Access { engine_socket: Path::new("/run/db.sock"), epoch: 3, memif_socket_ids };
    after_reading(networks, &verdicts, access)
}

fn by_name(networks: &[NodeNetwork]) -> BTreeMap<NetworkName, NodeNetwork> {
    networks.iter().map(|network| (network.name.clone(), network.clone())).collect()
}

#[test]
fn a_programmed_network_says_all_that_the_plugin_needs() {
    let files = files(&[network("blue")], &Verdict::PROGRAMMED);
    let expected = ProgrammedNetwork {
        version: ProgrammedNetwork::VERSION,
        network: network("blue"),
        engine_socket: "/run/db.sock".into(),
        epoch: 3,
        memif_socket_ids: MemifSocketIds::default(),
    };
    assert_eq!(files, [(name("blue"), NetworkFile::Programmed(expected))].into());
}

#[test]
fn the_reason_is_passed_on_while_pods_cannot_attach() {
    let failed = Verdict::failed(reason::ENGINE_UNREACHABLE, "socket is gone");
    let expected = NetworkFile::Unavailable {
        name: name("blue"),
        reason: "EngineUnreachable".into(),
        message: "socket is gone".into(),
    };
    assert_eq!(files(&[network("blue")], &failed).get(&name("blue")), Some(&expected));
}

#[test]
fn a_draining_network_never_takes_pods() {
    for verdict in [Verdict::PROGRAMMED, Verdict::failed(reason::ENGINE_UNREACHABLE, "")] {
        let draining = files(&[draining("blue")], &verdict);
        assert_eq!(draining.get(&name("blue")), Some(&NetworkFile::Draining { name: name("blue") }));
    }
}

#[test]
fn a_promise_is_withdrawn_before_its_bridge_is_touched() {
    let shown = files(&["blue", "green", "red", "gone"].map(network), &Verdict::PROGRAMMED);
    let wanted = by_name(&[network("blue"), network("green"), draining("red")]);
    let create = Op::CreateBridge { network: name("green"), bridge: network("green").bridge };
    let during = while_working(&shown, &wanted, &[create]);
    assert_eq!(during.get(&name("blue")), shown.get(&name("blue")), "traffic and new pods of others go on");
    assert!(matches!(during.get(&name("green")), Some(NetworkFile::Unavailable { .. })));
    assert!(matches!(during.get(&name("red")), Some(NetworkFile::Draining { .. })));
    assert_eq!(during.get(&name("gone")), None);
}

#[test]
fn nothing_is_promised_while_working() {
    let wanted = by_name(&[network("new")]);
    assert_eq!(while_working(&Files::new(), &wanted, &[]), Files::new());
}

#[test]
fn a_promise_of_another_engine_is_withdrawn() {
    let shown = files(&[network("blue")], &Verdict::PROGRAMMED);
    let during = while_working(&shown, &by_name(&[network_with(Engine::Vpp, "blue")]), &[]);
    assert!(matches!(during.get(&name("blue")), Some(NetworkFile::Unavailable { .. })), "{during:?}");
}

#[test]
fn files_of_an_earlier_agent_are_taken_over_and_the_stale_go() {
    let (_folder, roots) = roots();
    let earlier = files(&["blue", "stale", "other"].map(network), &Verdict::PROGRAMMED);
    Publisher::take_over(NetworkFiles::new(&roots)).unwrap().publish(&earlier, &BTreeSet::new()).unwrap();
    fs::write(roots.networks().join("broken.json"), "{").unwrap();

    let mut publisher = Publisher::take_over(NetworkFiles::new(&roots)).unwrap();
    assert_eq!(*publisher.shown(), earlier);
    let wanted = files(&[network("blue")], &Verdict::PROGRAMMED);
    publisher.publish(&wanted, &BTreeSet::from([name("other")])).unwrap();
    assert_eq!(NetworkFiles::new(&roots).list().unwrap(), [name("blue"), name("other")]);
}
