use super::*;
use crate::testing::{name, network, network_with, node_paths};
use std::fs;
use std::sync::Arc;
use usnet_crds::conditions::reason::ENGINE_UNREACHABLE;
use usnet_crds::{Encapsulation, EngineKind, NetworkUplink, NodeOverlay, UdpPort, Vni};
use usnet_dataplane::bridge::DesiredBridge;

fn draining(network_name: &str) -> NodeNetwork {
    NodeNetwork { phase: Phase::Draining, ..network(network_name) }
}

fn files(networks: &[NodeNetwork], health: &NetworkHealth) -> Files {
    files_of_switch(networks, health, true)
}

fn files_of_switch(networks: &[NodeNetwork], health: &NetworkHealth, has_af_xdp: bool) -> Files {
    let network_health = networks.iter().map(|network| (network.name.clone(), health.clone())).collect();
    let memif_socket_ids = MemifSocketIds::default();
    let numa_nodes = BTreeMap::from([("fab".parse().unwrap(), 1)]);
    let access = Access {
        engine_socket: Path::new("/run/db.sock"),
        epoch: 3,
        memif_socket_ids,
        has_af_xdp,
        finishing_bridges: &BTreeSet::from(["br-blue".to_owned()]),
        numa_nodes: &numa_nodes,
    };
    let networks: Vec<_> = networks.iter().cloned().map(Arc::new).collect();
    files_after_observe(&networks, &network_health, access)
}

fn by_name(networks: &[NodeNetwork]) -> BTreeMap<NetworkName, Arc<NodeNetwork>> {
    networks.iter().map(|network| (network.name.clone(), network.clone().into())).collect()
}

#[test]
fn a_programmed_network_has_all_that_the_plugin_needs() {
    let files = files(&[network("blue")], &NetworkHealth::PROGRAMMED);
    let expected = ProgrammedNetwork {
        version: ProgrammedNetwork::VERSION,
        network: network("blue").into(),
        engine_socket: "/run/db.sock".into(),
        epoch: 3,
        memif_socket_ids: MemifSocketIds::default(),
        checksum_offload: false,
        numa_node: None,
    };
    assert_eq!(files, [(name("blue"), NetworkFile::Programmed(expected))].into());
}

#[test]
fn pods_leave_checksums_to_a_bridge_of_usnet_that_finishes_packets() {
    let leaves = |name: &str, change: fn(&mut NodeNetwork)| {
        let mut network = network(name);
        network.port.port_type = PortType::Veth;
        change(&mut network);
        match files(&[network], &NetworkHealth::PROGRAMMED).into_values().next() {
            Some(NetworkFile::Programmed(programmed)) => programmed.checksum_offload,
            other => panic!("{other:?}"),
        }
    };
    assert!(leaves("blue", |_| {}));
    assert!(!leaves("red", |_| {}), "its bridge does not finish them");
    assert!(!leaves("blue", |network| network.port.port_type = PortType::VhostUser));
    assert!(!leaves("blue", |network| network.bridge.ownership = Ownership::Adopted));
    assert!(!leaves("blue", |network| network.port.veth.checksum_offload = ChecksumOffload::Off));
}

#[test]
fn where_the_switch_has_no_af_xdp_pods_get_the_other_datapath() {
    let mut fast = network("blue");
    (fast.port.port_type, fast.port.veth.datapath) = (PortType::Veth, VethDatapath::AfXdp);
    for (has_af_xdp, expected) in [(true, VethDatapath::AfXdp), (false, VethDatapath::Kernel)] {
        let files = files_of_switch(&[fast.clone()], &NetworkHealth::PROGRAMMED, has_af_xdp);
        let Some(NetworkFile::Programmed(found)) = files.get(&name("blue")) else { panic!("{files:?}") };
        assert_eq!(found.network.port.veth.datapath, expected);
    }
}

#[test]
fn the_numa_node_of_a_network_is_that_of_its_uplink() {
    let on = |uplink: &str| NodeNetwork {
        uplink: Some(NetworkUplink { name: uplink.parse().unwrap(), vlan: None }),
        ..network("blue")
    };
    let of = |uplink| files(&[on(uplink)], &NetworkHealth::PROGRAMMED)[&name("blue")].numa_node();
    assert_eq!((of("fab"), of("dci")), (Some(1), None));
}

/// A file that is read at each ADD must not grow with the number of nodes.
#[test]
fn the_peers_of_an_overlay_are_not_in_the_network_file() {
    let overlay = NodeOverlay {
        encapsulation: Encapsulation::Kernel,
        underlay: None,
        vni: Vni::try_from(5001).unwrap(),
        port: UdpPort::default(),
        local: [10, 0, 0, 1].into(),
        multicast_group: None,
        peers: Arc::new([[10, 0, 0, 2].into()].into()),
    };
    let joined = NodeNetwork { overlay: Some(overlay), ..network("blue") };
    assert_eq!(files(&[joined], &NetworkHealth::PROGRAMMED), files(&[network("blue")], &NetworkHealth::PROGRAMMED));
}

#[test]
fn the_reason_is_passed_on_while_pods_cannot_attach() {
    let failed = NetworkHealth::failed(ENGINE_UNREACHABLE, "socket is gone");
    let expected = NetworkFile::Unavailable {
        name: name("blue"),
        reason: "EngineUnreachable".into(),
        message: "socket is gone".into(),
    };
    assert_eq!(files(&[network("blue")], &failed).get(&name("blue")), Some(&expected));
}

#[test]
fn a_draining_network_never_accepts_pods() {
    for health in [NetworkHealth::PROGRAMMED, NetworkHealth::failed(ENGINE_UNREACHABLE, "")] {
        let draining = files(&[draining("blue")], &health);
        assert_eq!(draining.get(&name("blue")), Some(&NetworkFile::Draining { name: name("blue") }));
    }
}

#[test]
fn a_file_is_withdrawn_before_its_bridge_is_changed() {
    let published = files(&["blue", "green", "red", "gone"].map(network), &NetworkHealth::PROGRAMMED);
    let desired = by_name(&[network("blue"), network("green"), draining("red")]);
    let create = Op::CreateBridge {
        bridge: DesiredBridge::Network { network: name("green"), bridge: network("green").bridge, policy_zone: None },
    };
    let during = files_during_apply(&published, &desired, &[create]);
    assert_eq!(during.get(&name("blue")), published.get(&name("blue")), "traffic and new pods of others go on");
    assert!(matches!(during.get(&name("green")), Some(NetworkFile::Unavailable { .. })));
    assert!(matches!(during.get(&name("red")), Some(NetworkFile::Draining { .. })));
    assert_eq!(during.get(&name("gone")), None);
}

#[test]
fn nothing_becomes_programmed_during_apply() {
    let desired = by_name(&[network("new")]);
    assert_eq!(files_during_apply(&Files::new(), &desired, &[]), Files::new());
}

#[test]
fn a_file_of_another_engine_is_withdrawn() {
    let published = files(&[network("blue")], &NetworkHealth::PROGRAMMED);
    let during = files_during_apply(&published, &by_name(&[network_with(EngineKind::Vpp, "blue")]), &[]);
    assert!(matches!(during.get(&name("blue")), Some(NetworkFile::Unavailable { .. })), "{during:?}");
}

#[test]
fn files_of_an_earlier_agent_are_loaded_and_the_stale_are_removed() {
    let (_folder, paths) = node_paths();
    let earlier = files(&["blue", "stale", "other"].map(network), &NetworkHealth::PROGRAMMED);
    Publisher::load(NetworkFiles::new(&paths)).unwrap().publish(&earlier, &BTreeSet::new()).unwrap();
    fs::write(paths.networks().join("broken.json"), "{").unwrap();

    let mut publisher = Publisher::load(NetworkFiles::new(&paths)).unwrap();
    assert_eq!(*publisher.published(), earlier);
    let desired = files(&[network("blue")], &NetworkHealth::PROGRAMMED);
    publisher.publish(&desired, &BTreeSet::from([name("other")])).unwrap();
    assert_eq!(NetworkFiles::new(&paths).list().unwrap(), [name("blue"), name("other")]);
}

#[test]
fn a_file_that_others_change_is_written_again() {
    let (_folder, paths) = node_paths();
    let desired = files(&[network("blue")], &NetworkHealth::PROGRAMMED);
    let (files, others) = (NetworkFiles::new(&paths), BTreeSet::new());
    let mut publisher = Publisher::load(files.clone()).unwrap();
    publisher.publish(&desired, &others).unwrap();
    let path = paths.networks().join("blue.json");
    let written = fs::read_to_string(&path).unwrap();
    for other in [written.replace("\"version\": 1", "\"version\": 9"), "{".to_owned(), String::new()] {
        assert_ne!(other, written);
        fs::write(&path, other).unwrap();
        assert!(publisher.forget_changed());
        publisher.publish(&desired, &others).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), written);
    }
    let stamp = files.stamp(&name("blue"));
    assert!(!publisher.forget_changed(), "what the agent writes itself is no change");
    publisher.publish(&desired, &others).unwrap();
    assert_eq!(files.stamp(&name("blue")), stamp, "nothing is written without a change");
}
