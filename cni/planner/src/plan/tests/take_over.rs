//! What the legacy plugin created gets tags, and nothing else of it changes.

use super::model::Model;
use crate::model::attachment::{Progress, Record};
use crate::model::desired::Desired;
use crate::model::memif::MemifSocket;
use crate::model::observed::Observed;
use crate::model::port::{DesiredPort, PortBackend, PortName};
use crate::plan::{Blocker, Op, blockers, diff};
use crate::testing::{network_with, record_with};
use usnet_crds::{EngineKind, NodeNetwork, Ownership};

const ENGINES: [EngineKind; 2] = [EngineKind::OpenVswitch, EngineKind::Vpp];

fn taken_over(network: &NodeNetwork, container: &str) -> Record {
    let socket = format!("/run/vpp/{container}/memif.sock");
    let backend = match network.engine {
        EngineKind::OpenVswitch => crate::testing::record(container, network).port.backend,
        EngineKind::Vpp => PortBackend::memif(MemifSocket::file(socket.into()).unwrap()),
    };
    Record { taken_over: true, ..record_with(container, network, backend) }
}

/// The engine as the legacy plugin left it: the bridge and its ports have no tags, and in VPP
/// interfaces have names of VPP.
fn untagged(desired: &Desired) -> Observed {
    let networks: Vec<NodeNetwork> = desired.networks.values().map(|network| NodeNetwork::clone(network)).collect();
    let kind = networks[0].engine;
    let mut plain = Desired::new(networks, []);
    plain.ports.clone_from(&desired.ports);
    let mut engine = Model::empty(kind);
    engine.apply_all(&diff(&plain, &engine.observed)).unwrap();
    for bridge in engine.observed.bridges.values_mut() {
        bridge.owner = None;
        bridge.adoption_blocker = (kind == EngineKind::Vpp).then(|| "it has no tag".to_owned());
        let named = std::mem::take(&mut bridge.ports).into_iter().enumerate();
        let ports = named.map(|(number, (name, mut port))| {
            port.owner = None;
            (if kind == EngineKind::Vpp { PortName::observed(&format!("memif{number}/0")) } else { name }, port)
        });
        bridge.ports = ports.collect();
    }
    engine.observed
}

fn text(operations: &[Op]) -> Vec<String> {
    operations.iter().map(ToString::to_string).collect()
}

#[test]
fn a_bridge_that_has_ports_of_its_pods_alone_is_taken_over_with_them() {
    for engine in ENGINES {
        let blue = network_with(engine, "blue");
        let records = ["c1", "c2"].map(|container| taken_over(&blue, container));
        let desired = Desired::new([blue.clone()], &records);
        let observed = untagged(&desired);
        let bridge = &blue.bridge.name;
        let plan = diff(&desired, &observed);
        let port = |record: &Record| format!("take over port {} of {} on bridge {bridge}", record.port.name, record.id);
        let expected = [format!("take over bridge {bridge} for network blue"), port(&records[0]), port(&records[1])];
        assert_eq!(text(&plan), expected);
        assert!(blockers(&desired, &observed).is_empty());
        let mut model = Model::empty(engine);
        model.observed = observed;
        model.apply_all(&plan).unwrap();
        assert_eq!(diff(&desired, &model.observed), []);
    }
}

#[test]
fn a_bridge_with_a_port_of_others_stays_and_so_do_the_interfaces_of_vpp_on_it() {
    for engine in ENGINES {
        let blue = network_with(engine, "blue");
        let (known, other) = (taken_over(&blue, "c1"), taken_over(&blue, "c2"));
        let observed = untagged(&Desired::new([blue.clone()], [&known, &other]));
        let desired = Desired::new([blue.clone()], [&known]);
        let plan = diff(&desired, &observed);
        let bridge = blue.bridge.name.clone();
        assert_eq!(blockers(&desired, &observed).into_values().collect::<Vec<_>>(), [Blocker::BridgeExists { bridge }]);
        let is_tagged = plan.iter().any(|operation| matches!(operation, Op::TakeOverPort { .. }));
        assert_eq!((plan.len(), is_tagged), (usize::from(is_tagged), engine == EngineKind::OpenVswitch), "{plan:?}");
    }
}

#[test]
fn a_bridge_without_a_pod_of_the_legacy_plugin_is_one_of_others() {
    let blue = network_with(EngineKind::OpenVswitch, "blue");
    let record = Record { taken_over: false, ..taken_over(&blue, "c1") };
    let desired = Desired::new([blue], [&record]);
    let observed = untagged(&desired);
    assert_eq!((diff(&desired, &observed), blockers(&desired, &observed).len()), (vec![], 1));
}

#[test]
fn an_adopted_bridge_gets_no_tag_and_its_ports_do() {
    let mut blue = network_with(EngineKind::OpenVswitch, "blue");
    let observed = untagged(&Desired::new([blue.clone()], [&taken_over(&blue, "c1")]));
    blue.bridge.ownership = Ownership::Adopted;
    let plan = diff(&Desired::new([blue.clone()], [&taken_over(&blue, "c1")]), &observed);
    assert!(matches!(plan.as_slice(), [Op::TakeOverPort { .. }]), "{plan:?}");
}

#[test]
fn a_port_with_another_socket_is_neither_tagged_nor_created_twice() {
    let blue = network_with(EngineKind::OpenVswitch, "blue");
    let record = taken_over(&blue, "c1");
    let mut observed = untagged(&Desired::new([blue.clone()], [&record]));
    let bridge = observed.bridges.get_mut(blue.bridge.name.as_str()).unwrap();
    bridge.ports.values_mut().for_each(|port| port.backend = None);
    assert_eq!(diff(&Desired::new([blue], [&record]), &observed), []);
}

#[test]
fn after_a_restart_of_vpp_and_at_its_end_it_is_a_port_like_any_other() {
    let blue = network_with(EngineKind::Vpp, "blue");
    let record = taken_over(&blue, "c1");
    let desired = Desired::new([blue.clone()], [&record]);
    let created = diff(&desired, &Observed::default());
    assert!(matches!(created.as_slice(), [Op::CreateBridge { .. }, Op::CreatePort { .. }]), "{created:?}");
    let detached = Record { progress: Progress::Detached, ..record };
    let (desired, observed) = (Desired::new([blue], [&detached]), untagged(&desired));
    let mut model = Model::empty(EngineKind::Vpp);
    model.observed = observed;
    for step in [2, 1, 0] {
        let plan = diff(&desired, &model.observed);
        assert_eq!(plan.len(), step, "{plan:?}");
        model.apply_all(&plan).unwrap();
    }
    let left = &model.observed.bridges.values().next().unwrap().ports;
    assert!(left.is_empty() && DesiredPort::of_attachment(&detached).bridge.is_some());
}
