use super::*;
use crate::agent::testing::{bridge_of, name, network, port_of, record};
use usnet_crds::Ownership;
use usnet_crds::conditions::reason::PORT_FAILED;
use usnet_crds::node_state::NetworkState;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::observed::{ObservedBridge, ObservedPort};
use usnet_dataplane::plan::{blockers, diff};

fn evaluate_one(observed: &Observed, records: &[Record], failures: &[(Op, OpError)]) -> NetworkHealth {
    evaluate_in(observed, records, failures, None)
}

fn evaluate_in(
    observed: &Observed,
    records: &[Record],
    failures: &[(Op, OpError)],
    engine_error: Option<&str>,
) -> NetworkHealth {
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
    evaluate(evidence).remove(&name("blue")).expect("a verdict for each network")
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
    let why = failed.why.expect("a reason");
    assert_eq!((failed.state, why.reason, failed.attachable), (NetworkState::Failed, ENGINE_REFUSED, false));
    assert!(why.message.contains("VPP could not") && why.message.contains("no such device"), "{}", why.message);
}

#[test]
fn a_bridge_not_owned_by_usnet_fails_the_network() {
    let mut observed = healthy();
    observed.bridges.values_mut().for_each(|bridge| bridge.owner = None);
    let health = evaluate_one(&observed, &[], &[]);
    assert_eq!(health.why.map(|why| why.reason), Some(BRIDGE_EXISTS));
    assert_eq!((health.state, health.attachable), (NetworkState::Failed, false));
}

#[test]
fn the_reason_is_why_the_last_attempt_failed() {
    let wanted = network("blue");
    let failed = Op::CreateBridge { network: wanted.name, bridge: wanted.bridge };
    let error = OpError::Refused { what: "bridge br-blue".into(), reason: "device or resource busy".into() };
    let why = evaluate_one(&Observed::default(), &[], &[(failed, error)]).why.expect("a reason");
    assert_eq!(why.reason, ENGINE_REFUSED);
    assert!(why.message.contains("device or resource busy"), "{}", why.message);
}

#[test]
fn a_dead_port_is_reported_but_other_pods_may_still_attach() {
    let record = record("c1", &network("blue"));
    let observed = with_port(&record, &ElementState::Failed("no DPDK".into()));
    let health = evaluate_one(&observed, std::slice::from_ref(&record), &[]);
    assert_eq!((health.state, health.attachable), (NetworkState::Failed, true));
    let why = health.why.expect("a reason");
    assert_eq!(why.reason, PORT_FAILED);
    assert!(why.message.contains("c1.net1") && why.message.contains("no DPDK"), "{}", why.message);
}

#[test]
fn what_a_pod_left_at_its_socket_degrades_its_attachment_and_not_the_network() {
    let record = record("c1", &network("blue"));
    let (network, attachment, port) = (record.network.clone(), record.id.clone(), record.port.clone());
    let create = Op::CreatePort { network, attachment, port };
    let error = OpError::SocketUnusable { what: "port p1".into(), reason: "SYSCALL_ERROR_4".into() };
    let failures = [(create, error)];
    assert_eq!(evaluate_one(&healthy(), std::slice::from_ref(&record), &failures), NetworkHealth::PROGRAMMED);
    let degraded = degraded(&failures);
    let why = &degraded[&record.id];
    assert_eq!(why.reason, SOCKET_UNUSABLE);
    assert!(why.message.contains("net1") && why.message.contains("SYSCALL_ERROR_4"), "{}", why.message);
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
fn a_port_that_a_failing_engine_did_not_create_is_reported_with_the_error() {
    let record = record("c1", &network("blue"));
    let health = evaluate_in(&healthy(), std::slice::from_ref(&record), &[], Some("VPP does not know memif_create_v2"));
    assert_eq!((health.state, health.attachable), (NetworkState::Failed, true));
    let message = health.why.expect("a reason").message;
    assert!(message.contains("c1.net1") && message.contains("memif_create_v2"), "{message}");
    assert_eq!(evaluate_one(&healthy(), &[record], &[]), NetworkHealth::PROGRAMMED, "the plugin works on it");
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
        health.why.map(|why| (why.reason, why.message)).expect("a reason")
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
    let (reason, message) = failed(&with(|bridge| bridge.owner = Some(name("green"))));
    assert!(reason == BRIDGE_UNUSABLE && message.contains("green"), "{reason}: {message}");
}
