use super::*;
use crate::testing::{bridge_of, name, network, port_of, record};
use usnet_crds::Ownership;
use usnet_crds::conditions::reason::PORT_FAILED;
use usnet_crds::node_state::NetworkState;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::bridge::{BridgeOwner, DesiredBridge};
use usnet_dataplane::observed::{ObservedBridge, ObservedPort};
use usnet_dataplane::plan::{blockers, diff};
use usnet_dataplane::port::DesiredPort;

fn evaluate_one(observed: &Observed, records: &[Record], failures: &[(Op, OpError)]) -> NetworkHealth {
    evaluate_in(observed, records, failures, None)
}

fn evaluate_in(
    observed: &Observed,
    records: &[Record],
    failures: &[(Op, OpError)],
    engine_error: Option<&str>,
) -> NetworkHealth {
    both_in(observed, records, failures, engine_error).0
}

/// The health of the network, and the attachments with a problem of their own.
fn both_in(
    observed: &Observed,
    records: &[Record],
    failures: &[(Op, OpError)],
    engine_error: Option<&str>,
) -> (NetworkHealth, BTreeMap<AttachmentId, Cause>) {
    let desired = Desired::new([network("blue")], records);
    let evidence = Evidence {
        engine: EngineKind::Vpp,
        desired: &desired,
        observed,
        remaining: &diff(&desired, observed),
        blockers: &blockers(&desired, observed),
        failures,
        engine_error,
    };
    (evaluate(evidence).remove(&name("blue")).expect("a verdict for each network"), degraded(evidence))
}

fn healthy() -> Observed {
    Observed { bridges: [bridge_of(&network("blue"))].into(), ..Observed::default() }
}

fn with_port(record: &Record, state: &ElementState) -> Observed {
    let mut observed = healthy();
    for bridge in observed.bridges.values_mut() {
        let port = ObservedPort { state: state.clone(), ..port_of(record) };
        bridge.ports.insert(record.port.name.clone(), port);
    }
    observed
}

#[test]
fn a_running_bridge_is_programmed_and_nothing_less_is() {
    assert_eq!(evaluate_one(&healthy(), &[], &[]), NetworkHealth::PROGRAMMED);

    let missing = evaluate_one(&Observed::default(), &[], &[]);
    assert_eq!((missing.state, missing.attachable), (NetworkState::Pending, false));

    let mut observed = healthy();
    observed.bridges.values_mut().for_each(|bridge| bridge.state = ElementState::Pending);
    assert_eq!(evaluate_one(&observed, &[], &[]).state, NetworkState::Pending);

    observed.bridges.values_mut().for_each(|bridge| bridge.state = ElementState::Failed("no such device".into()));
    let failed = evaluate_one(&observed, &[], &[]);
    let cause = failed.cause.expect("a reason");
    assert_eq!((failed.state, cause.reason, failed.attachable), (NetworkState::Failed, ENGINE_REFUSED, false));
    assert!(cause.message.contains("VPP could not") && cause.message.contains("no such device"), "{}", cause.message);
}

#[test]
fn a_bridge_not_owned_by_usnet_fails_the_network() {
    let mut observed = healthy();
    observed.bridges.values_mut().for_each(|bridge| bridge.owner = None);
    let health = evaluate_one(&observed, &[], &[]);
    assert_eq!(health.cause.map(|cause| cause.reason), Some(BRIDGE_EXISTS));
    assert_eq!((health.state, health.attachable), (NetworkState::Failed, false));
}

#[test]
fn the_reason_is_why_the_last_attempt_failed() {
    let wanted = network("blue");
    let failed = Op::CreateBridge {
        bridge: DesiredBridge::Network { network: wanted.name, bridge: wanted.bridge, policy_zone: None },
    };
    let error = OpError::Refused { what: "bridge br-blue".into(), reason: "device or resource busy".into() };
    let cause = evaluate_one(&Observed::default(), &[], &[(failed, error)]).cause.expect("a reason");
    assert_eq!(cause.reason, ENGINE_REFUSED);
    assert!(cause.message.contains("device or resource busy"), "{}", cause.message);
}

/// The health of a network with one attached pod and the problem of that, which is its own.
fn problem(observed: &Observed, failures: &[(Op, OpError)], engine_error: Option<&str>) -> Cause {
    let record = record("c1", &network("blue"));
    let (health, mut degraded) = both_in(observed, std::slice::from_ref(&record), failures, engine_error);
    assert_eq!(health, NetworkHealth::PROGRAMMED);
    degraded.remove(&record.id).expect("a problem of the attachment")
}

fn create_failed(error: OpError) -> (Op, OpError) {
    let port = DesiredPort::of_attachment(&record("c1", &network("blue")));
    (Op::CreatePort { port: port.into() }, error)
}

#[test]
fn a_port_that_fails_degrades_its_attachment_and_not_the_network() {
    let observed = with_port(&record("c1", &network("blue")), &ElementState::Failed("no memory left".into()));
    let refused = OpError::Refused { what: "port p1".into(), reason: "no such device".into() };
    let foreign = OpError::Foreign { what: "port p1".into() };
    for (observed, failures, engine_error, says) in [
        (&observed, vec![], None, "no memory left"),
        (&healthy(), vec![create_failed(refused)], None, "no such device"),
        (&healthy(), vec![create_failed(foreign)], None, "not owned by usnet"),
        (&healthy(), vec![create_failed(OpError::NoSocketId { count: 3 })], None, "all 3 memif socket ids"),
        (&healthy(), vec![], Some("VPP did not answer"), "VPP did not answer"),
    ] {
        let cause = problem(observed, &failures, engine_error);
        assert_eq!(cause.reason, PORT_FAILED, "{says}");
        assert!(cause.message.contains("c1.net1") && cause.message.contains(says), "{}", cause.message);
    }
}

#[test]
fn a_foreign_port_with_the_name_of_a_port_degrades_its_attachment_on_whatever_bridge_it_is() {
    let record = record("c1", &network("blue"));
    let foreign = ObservedPort { owner: None, ..port_of(&record) };
    let mut on_other = healthy();
    let (_, mut other) = bridge_of(&network("red"));
    other.owner = None;
    other.ports.insert(record.port.name.clone(), foreign.clone());
    on_other.bridges.insert("br-other".to_owned(), other);
    let mut on_own = healthy();
    on_own.bridges.values_mut().for_each(|bridge| drop(bridge.ports.insert(record.port.name.clone(), foreign.clone())));
    for (observed, bridge) in [(&on_other, "br-other"), (&on_own, "br-blue")] {
        let cause = problem(observed, &[], None);
        assert_eq!(cause.reason, PORT_FAILED);
        let says = format!("port {} of bridge {bridge} already exists", record.port.name);
        assert!(cause.message.contains(&says), "{}", cause.message);
    }
}

#[test]
fn what_a_pod_left_at_its_socket_degrades_its_attachment_and_not_the_network() {
    let error = OpError::SocketUnusable { what: "port p1".into(), reason: "SYSCALL_ERROR_4".into() };
    let cause = problem(&healthy(), &[create_failed(error)], None);
    assert_eq!(cause.reason, SOCKET_UNUSABLE);
    assert!(cause.message.contains("net1") && cause.message.contains("SYSCALL_ERROR_4"), "{}", cause.message);
}

#[test]
fn a_network_whose_type_of_ports_the_engine_lacks_fails_without_any_pod() {
    let record = record("c1", &network("blue"));
    let (own, other) = (record.port.backend.port_type().unwrap(), usnet_crds::PortType::Veth);
    let without = |port_type| {
        let mut observed = with_port(&record, &ElementState::Failed("Address family not supported".into()));
        observed.unusable_port_types.insert(port_type, "it runs without DPDK".to_owned());
        observed
    };
    let health = evaluate_one(&without(network("blue").port.port_type), &[], &[]);
    assert_eq!((health.state, health.attachable), (NetworkState::Failed, false));
    let cause = health.cause.expect("a reason");
    assert_eq!((cause.reason, cause.message.as_str()), (ENGINE_UNSUITABLE, "it runs without DPDK"));
    let (_, degraded) = both_in(&without(own), std::slice::from_ref(&record), &[], None);
    assert!(degraded[&record.id].message.contains("without DPDK"), "{degraded:?}");
    // Others do not have that problem.
    assert_ne!(network("blue").port.port_type, other);
    assert_eq!(evaluate_one(&without(other), &[], &[]), NetworkHealth::PROGRAMMED);
}

#[test]
fn a_network_that_asks_for_af_xdp_says_that_the_switch_has_none_and_takes_pods() {
    let observed = Observed { without_af_xdp: Some("it is built without".to_owned()), ..healthy() };
    assert_eq!(evaluate_one(&observed, &[], &[]), NetworkHealth::PROGRAMMED, "it does not ask for it");
    let mut fast = network("blue");
    fast.port.veth.datapath = VethDatapath::AfXdp;
    let desired = Desired::new([fast], []);
    let evidence = Evidence {
        engine: EngineKind::OpenVswitch,
        desired: &desired,
        observed: &observed,
        remaining: &[],
        blockers: &BTreeMap::new(),
        failures: &[],
        engine_error: None,
    };
    let health = evaluate(evidence).into_values().next().expect("one network");
    assert_eq!((health.state, health.attachable), (NetworkState::Failed, true));
    assert_eq!(health.cause.expect("a reason").reason, ENGINE_UNSUITABLE);
}

#[test]
fn a_network_whose_pods_the_engine_cannot_check_fails_without_any_pod() {
    let observed = Observed { unguardable: Some("VPP: it is too old".to_owned()), ..healthy() };
    assert_eq!(evaluate_one(&observed, &[], &[]), NetworkHealth::PROGRAMMED, "it asks for no check");
    let mut guarded = network("blue");
    guarded.port.anti_spoofing = usnet_crds::AntiSpoofing::Mac;
    let desired = Desired::new([guarded], []);
    let evidence = Evidence {
        engine: EngineKind::OpenVswitch,
        desired: &desired,
        observed: &observed,
        remaining: &[],
        blockers: &BTreeMap::new(),
        failures: &[],
        engine_error: None,
    };
    let health = evaluate(evidence).into_values().next().expect("one network");
    assert_eq!((health.state, health.attachable), (NetworkState::Failed, false));
    let cause = health.cause.expect("a reason");
    assert_eq!((cause.reason, cause.message.as_str()), (ENGINE_UNSUITABLE, "VPP: it is too old"));
}

#[test]
fn a_network_whose_policies_are_not_enforced_fails() {
    for (problem, reason, text) in [
        (PoliciesProblem::Unknown, POLICIES_UNKNOWN, "config/components/policies"),
        (PoliciesProblem::TooLarge("they need 7 flows".into()), POLICY_TOO_LARGE, "they need 7 flows"),
    ] {
        let mut observed = healthy();
        observed.unenforced.insert("br-blue".to_owned(), problem);
        let health = evaluate_one(&observed, &[], &[]);
        assert_eq!((health.state, health.attachable), (NetworkState::Failed, false));
        let cause = health.cause.expect("a reason");
        assert!(cause.reason == reason && cause.message.contains(text), "{cause:?}");
    }
}

#[test]
fn a_port_that_is_just_being_created_does_not_fail_its_network() {
    let mut attaching = record("c1", &network("blue"));
    attaching.progress = usnet_dataplane::attachment::Progress::Attaching;
    let observed = with_port(&attaching, &ElementState::Failed("not yet".into()));
    assert_eq!(evaluate_one(&observed, &[attaching], &[]), NetworkHealth::PROGRAMMED);
    let attached = record("c1", &network("blue"));
    let observed = with_port(&attached, &ElementState::Pending);
    assert_eq!(evaluate_one(&observed, &[attached], &[]), NetworkHealth::PROGRAMMED);
}

#[test]
fn a_port_without_memory_is_no_problem_of_its_network() {
    let pods = [record("c1", &network("blue"))];
    let (health, degraded) = both_in(&with_port(&pods[0], &ElementState::NoMemory), &pods, &[], None);
    assert_eq!((health, degraded), (NetworkHealth::PROGRAMMED, BTreeMap::new()));
}

#[test]
fn a_port_that_the_plugin_works_on_has_no_problem() {
    let record = record("c1", &network("blue"));
    let (health, degraded) = both_in(&healthy(), &[record], &[], None);
    assert_eq!((health, degraded), (NetworkHealth::PROGRAMMED, BTreeMap::new()));
}

#[test]
fn an_adopted_bridge_is_programmed_as_it_is_or_reports_what_is_wrong_with_it() {
    let mut blue = network("blue");
    blue.bridge.ownership = Ownership::Adopted;
    let desired = Desired::new([blue], &[]);
    let health = |observed: &Observed| {
        let remaining = diff(&desired, observed);
        // Green's own bridge, in the last case, is no longer desired and may be removed.
        assert!(remaining.iter().all(|operation| operation.network() != Some(&name("blue"))), "{remaining:?}");
        let blockers = blockers(&desired, observed);
        let evidence = Evidence {
            engine: EngineKind::OpenVswitch,
            desired: &desired,
            observed,
            remaining: &remaining,
            blockers: &blockers,
            failures: &[],
            engine_error: None,
        };
        evaluate(evidence).remove(&name("blue")).expect("a verdict for each network")
    };
    let failed = |observed: &Observed| {
        let health = health(observed);
        assert_eq!((health.state, health.attachable), (NetworkState::Failed, false));
        health.cause.map(|cause| (cause.reason, cause.message)).expect("a reason")
    };
    let with = |change: fn(&mut ObservedBridge)| {
        let mut observed = healthy();
        observed.bridges.values_mut().for_each(change);
        observed
    };
    let foreign = with(|bridge| {
        (bridge.owner, bridge.has_supported_datapath) = (None, false);
        bridge.settings.mac_age_seconds = Some(20);
    });
    assert_eq!(health(&foreign), NetworkHealth::PROGRAMMED);
    let (reason, message) = failed(&Observed::default());
    assert!(reason == BRIDGE_MISSING && message.contains("br-blue"), "{reason}: {message}");
    let (reason, message) = failed(&with(|bridge| {
        (bridge.owner, bridge.adoption_blocker) = (None, Some("its datapath_type is \"system\"".into()));
    }));
    assert!(reason == BRIDGE_UNUSABLE && message.contains("system"), "{reason}: {message}");
    let (reason, message) = failed(&with(|bridge| bridge.owner = Some(BridgeOwner::Network(name("green")))));
    assert!(reason == BRIDGE_UNUSABLE && message.contains("green"), "{reason}: {message}");
}
