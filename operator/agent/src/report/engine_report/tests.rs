use super::*;
use crate::model::engine_view::EngineUp;
use crate::model::spec::NodeSpec;
use crate::report::metrics::Metrics;
use crate::testing::{bridge_of, name, network, port_of, record};
use prometheus::Registry;
use prometheus::proto::Metric;
use usnet_crds::conditions::OVS_CONNECTED;
use usnet_crds::conditions::reason::{
    CPUS_NOT_ISOLATED, DISCONNECTED, NEVER_SEEN, NOT_CONNECTED, PORT_FAILED, SOCKET_UNUSABLE, WITHOUT_AF_XDP,
};
use usnet_dataplane::observed::Observed;
use usnet_dataplane::owner::{NetworkDevice, NetworkDeviceRole, PortOwner};
use usnet_dataplane::port::PortName;

fn up_with(observed: Observed) -> EngineView {
    EngineView::Up(EngineUp { observed: observed.into(), version: Some("3.1.0".into()), warning: None })
}

fn up() -> EngineView {
    up_with(Observed::default())
}

fn outage() -> Outage {
    Outage { reason: NEVER_SEEN, message: "no socket at /run/db.sock".into(), has_ended: false }
}

fn spec(networks: &[NodeNetwork]) -> EngineSpec {
    let networks = networks.iter().cloned().map(Arc::new).collect();
    EngineSpec::of(&Arc::new(NodeSpec { generation: 4, networks, ..NodeSpec::default() }), EngineKind::OpenVswitch)
}

fn report_of(
    spec: &EngineSpec,
    network_health: &BTreeMap<NetworkName, NetworkHealth>,
    records: &[Record],
    view: &EngineView,
) -> EngineFacts {
    report_with(spec, network_health, &BTreeMap::new(), records, view)
}

fn report_with(
    spec: &EngineSpec,
    network_health: &BTreeMap<NetworkName, NetworkHealth>,
    degraded: &BTreeMap<AttachmentId, Cause>,
    records: &[Record],
    view: &EngineView,
) -> EngineFacts {
    report(Facts {
        engine: EngineKind::OpenVswitch,
        spec: Some(spec),
        network_health,
        blockers: &BTreeMap::new(),
        kept_bridges: &BTreeMap::new(),
        uplinks: &[],
        degraded,
        last_end: None,
        records,
        view,
        epoch: 2,
    })
}

fn programmed(names: &[&str]) -> BTreeMap<NetworkName, NetworkHealth> {
    names.iter().map(|network| (name(network), NetworkHealth::PROGRAMMED)).collect()
}

#[test]
fn pods_are_counted_and_named_up_to_a_limit() {
    let blue = network("blue");
    let records: Vec<_> = (10..25).map(|number| record(&format!("c{number}"), &blue)).collect();
    let facts = report_of(&spec(&[blue]), &programmed(&["blue"]), &records, &up());
    let [entry] = facts.networks.as_slice() else { panic!("{facts:?}") };
    assert_eq!((entry.attachments, entry.pods.len(), entry.pods[0].as_str()), (15, PODS_MAX, "default/c10"));
    assert_eq!((entry.state, entry.generation), (NetworkState::Programmed, 1));
    assert_eq!(facts.spec.map(|spec| spec.generation), Some(4));
    assert_eq!(facts.engine.map(|engine| engine.epoch), Some(2));
    assert_eq!((facts.connected.kind, facts.connected.status), (OVS_CONNECTED, Status::True));
}

#[test]
fn what_makes_an_engine_worse_is_its_reason_while_it_is_connected() {
    let EngineView::Up(engine) = up() else { panic!("it is up") };
    let warning = Some((CPUS_NOT_ISOLATED, "UserspaceEngine ovs: 2-3".to_owned()));
    let view = EngineView::Up(EngineUp { warning, ..engine });
    let connected = report_of(&spec(&[]), &programmed(&[]), &[], &view).connected;
    assert_eq!((connected.status, connected.reason.as_ref()), (Status::True, CPUS_NOT_ISOLATED));
    assert!(connected.message.starts_with("connected") && connected.message.ends_with("ovs: 2-3"), "{connected:?}");
}

#[test]
fn attachments_with_a_problem_are_counted_and_named_up_to_a_limit() {
    let networks = [network("blue"), network("red")];
    let mut records: Vec<_> = (10..50).map(|number| record(&format!("c{number}"), &networks[0])).collect();
    records.push(record("c50", &networks[1]));
    let cause = Cause { reason: NOT_CONNECTED, message: "it has to listen".into() };
    let degraded = records[..40].iter().map(|record| (record.id.clone(), cause.clone())).collect();
    let facts = report_with(&spec(&networks), &programmed(&["blue", "red"]), &degraded, &records, &up());
    let [blue, red] = facts.networks.as_slice() else { panic!("{facts:?}") };
    assert_eq!((blue.state, blue.degraded.len()), (NetworkState::Programmed, DEGRADED_MAX));
    let first = &blue.degraded[0];
    assert_eq!((first.pod.as_str(), first.uid.as_str(), first.interface.as_str()), ("default/c10", "0-1", "net1"));
    assert_eq!((first.reason.as_str(), first.message.as_str()), (NOT_CONNECTED, "it has to listen"));
    assert_eq!(red.degraded, []);
    assert_eq!(
        facts.degraded,
        BTreeMap::from([
            (DEVICE_MISSING, 0),
            (NO_MEMORY, 0),
            (NOT_CONNECTED, 40),
            (PORT_FAILED, 0),
            (SOCKET_UNUSABLE, 0),
            (WITHOUT_AF_XDP, 0)
        ])
    );
    let counted = [NOT_CONNECTED, SOCKET_UNUSABLE].map(|reason| gauge(&facts, "attachments_degraded", Some(reason)));
    assert_eq!(counted, [40.0, 0.0]);
}

/// A gauge of the engine's metrics.
fn gauge(facts: &EngineFacts, name: &str, reason: Option<&str>) -> f64 {
    let (metrics, registry) = (Metrics::new().unwrap(), Registry::new());
    metrics.register(&registry).unwrap();
    metrics.engine(EngineKind::OpenVswitch, facts);
    let families = registry.gather();
    let family = families.iter().find(|family| family.name() == format!("usnet_agent_{name}")).unwrap();
    let has_reason = |sample: &&Metric| {
        let is_it = |reason| sample.get_label().iter().any(|label| label.value() == reason);
        reason.is_none_or(is_it)
    };
    family.get_metric().iter().find(has_reason).unwrap().get_gauge().get_value()
}

#[test]
fn ports_with_a_program_at_the_other_end_are_counted() {
    let networks = [network("blue"), network("red")];
    let records = [record("c1", &networks[0]), record("c2", &networks[0]), record("c3", &networks[1])];
    let mut observed = Observed { bridges: networks.iter().map(bridge_of).collect(), ..Observed::default() };
    for (record, peer) in records.iter().zip([Peer::Connected, Peer::Absent, Peer::Connected]) {
        let bridge = observed.bridges.get_mut(record.port.bridge.as_str()).unwrap();
        bridge.ports.insert(record.port.name.clone(), ObservedPort { peer, ..port_of(record) });
    }
    // On a bridge domain that is not owned by usnet, the tag does not name the network.
    let adopted = observed.bridges.get_mut("br-red").unwrap();
    adopted.ports.values_mut().for_each(|port| port.owner.as_mut().unwrap().network = None);
    let foreign = ObservedPort { owner: None, peer: Peer::Connected, ..port_of(&records[1]) };
    let blue = observed.bridges.get_mut(networks[0].bridge.name.as_str()).unwrap();
    blue.ports.insert(PortName::observed("foreign0"), foreign);
    // That of an overlay is no pod's.
    let device = NetworkDevice { network: networks[0].name.clone(), role: NetworkDeviceRole::Overlay, index: 7 };
    let owner = Some(PortOwner::of_device(&device));
    let joined = ObservedPort { owner, peer: Peer::Connected, ..port_of(&records[1]) };
    blue.ports.insert(PortName::observed("use-7"), joined);
    let facts = report_of(&spec(&networks), &programmed(&["blue", "red"]), &records, &up_with(observed));
    let counts: Vec<_> = facts.networks.iter().map(|entry| (entry.attachments, entry.connected)).collect();
    assert_eq!(counts, [(2, 1), (1, 1)]);
    assert_eq!(["attachments", "attachments_connected"].map(|name| gauge(&facts, name, None)), [3.0, 2.0]);
}

#[test]
fn an_absent_engine_fails_its_networks_and_only_them() {
    let spec = spec(&[network("blue"), NodeNetwork { phase: Phase::Draining, ..network("old") }]);
    let network_health = health_during_outage(&spec, &outage());
    let facts = report_of(&spec, &network_health, &[], &EngineView::Down(outage()));
    let states: Vec<_> = facts.networks.iter().map(|entry| (entry.state, entry.reason.as_str())).collect();
    let unreachable = ENGINE_UNREACHABLE;
    assert_eq!(states, [(NetworkState::Failed, unreachable), (NetworkState::Draining, unreachable)]);
    assert_eq!(facts.connected.reason, NEVER_SEEN);
    assert_eq!(facts.engine, None);
}

/// With both engines configured, each node that has one of them would raise an alert.
#[test]
fn an_engine_that_ended_has_the_metric_0_and_one_that_the_node_never_had_has_none() {
    let (metrics, registry) = (Metrics::new().unwrap(), Registry::new());
    metrics.register(&registry).unwrap();
    let exported = |outage| {
        let facts = report_of(&spec(&[]), &BTreeMap::new(), &[], &EngineView::Down(outage));
        metrics.engine(EngineKind::OpenVswitch, &facts);
        let families = registry.gather();
        let family = families.iter().find(|family| family.name() == "usnet_agent_engine_connected");
        family.map(|family| family.get_metric().iter().map(|it| it.get_gauge().get_value()).collect::<Vec<_>>())
    };
    assert_eq!(exported(Outage { reason: DISCONNECTED, ..outage() }), Some(vec![0.0]));
    assert_eq!(exported(outage()), None);
}

#[test]
fn a_network_that_is_no_longer_desired_is_reported_until_its_pods_are_deleted() {
    let records = [record("c1", &network("old"))];
    let facts = report_of(&spec(&[]), &BTreeMap::new(), &records, &up());
    let [entry] = facts.networks.as_slice() else { panic!("{facts:?}") };
    assert_eq!((entry.name.as_str(), entry.state, entry.attachments), ("old", NetworkState::Draining, 1));
}

#[test]
fn a_bridge_that_is_kept_for_an_unreadable_record_is_reported_although_its_network_is_gone() {
    let (network_health, kept) = (programmed(&[]), BTreeMap::from([(name("blue"), "br-blue".to_owned())]));
    let (spec, view) = (spec(&[]), up());
    let facts = |records: &[Record]| {
        report(Facts {
            engine: EngineKind::OpenVswitch,
            spec: Some(&spec),
            network_health: &network_health,
            blockers: &BTreeMap::new(),
            degraded: &BTreeMap::new(),
            last_end: None,
            kept_bridges: &kept,
            uplinks: &[],
            records,
            view: &view,
            epoch: 1,
        })
    };
    let [entry] = facts(&[]).networks.try_into().unwrap();
    assert_eq!(
        (entry.name.as_str(), entry.state, entry.reason.as_str()),
        ("blue", NetworkState::Draining, "RecordUnreadable")
    );
    assert!(entry.message.contains("bridge br-blue is kept"), "{}", entry.message);
    let [entry] = facts(&[record("c1", &network("blue"))]).networks.try_into().unwrap();
    assert_eq!((entry.reason.as_str(), entry.attachments), ("InUse", 1), "a pod that is known comes first");
}

#[test]
fn pods_hear_that_their_engine_is_down_or_their_network_is_removed() {
    let networks = [network("blue"), NodeNetwork { phase: Phase::Draining, ..network("old") }];
    let spec = spec(&networks);
    let records = [record("c1", &networks[0]), record("c1", &networks[0]), record("c2", &networks[1])];
    let named = |view: &EngineView, spec: Option<&EngineSpec>| {
        let (none, health) = (BTreeMap::new(), programmed(&["blue"]));
        let facts = Facts {
            engine: EngineKind::OpenVswitch,
            spec,
            network_health: &health,
            blockers: &BTreeMap::new(),
            kept_bridges: &BTreeMap::new(),
            uplinks: &[],
            degraded: &none,
            last_end: None,
            records: &records,
            view,
            epoch: 2,
        };
        let pods = report(facts).affected_pods;
        pods.into_iter().map(|it| [it.pod, it.network, it.reason]).collect::<Vec<_>>()
    };
    let draining = ["default/c2", "old", "NetworkDraining"];
    assert_eq!(named(&up(), Some(&spec)), [draining]);
    let down = EngineView::Down(outage());
    let unreachable = [["default/c1", "blue", "EngineUnreachable"], ["default/c2", "old", "EngineUnreachable"]];
    assert_eq!(named(&down, Some(&spec)), [unreachable[0], unreachable[1], draining]);
    assert_eq!(named(&up(), None), [[""; 3]; 0], "without a spec nothing is known to drain");
}

#[test]
fn so_many_pods_hear_at_most() {
    let blue = network("blue");
    let records: Vec<_> = (100..300).map(|number| record(&format!("c{number}"), &blue)).collect();
    let facts = report_of(&spec(&[blue]), &programmed(&["blue"]), &records, &EngineView::Down(outage()));
    let named = (facts.affected_pods.len(), facts.affected_pods[0].pod.as_str());
    assert_eq!(named, (AFFECTED_PODS_MAX, "default/c100"));
}
