use super::*;
use crate::model::spec::NodeSpec;
use std::sync::Arc;
use usnet_crds::conditions::reason::{CONNECTED, DISCONNECTED};
use usnet_crds::conditions::{OVS_CONNECTED, VPP_CONNECTED};

fn entry(name: &str, state: NetworkState, reason: &str, attachments: i64) -> NetworkReport {
    NetworkReport {
        name: name.to_owned(),
        generation: 1,
        state,
        reason: reason.to_owned(),
        message: if reason.is_empty() { String::new() } else { format!("{name} has a problem") },
        attachments,
        connected: 0,
        pods: Vec::new(),
        degraded: Vec::new(),
    }
}

fn programmed(name: &str, attachments: i64) -> NetworkReport {
    entry(name, NetworkState::Programmed, "", attachments)
}

fn failed(name: &str, reason: &str, attachments: i64) -> NetworkReport {
    entry(name, NetworkState::Failed, reason, attachments)
}

fn draining(name: &str, reason: &str, attachments: i64) -> NetworkReport {
    entry(name, NetworkState::Draining, reason, attachments)
}

/// A report up to 1000, where the networks have the versions 101, 102 and so on.
fn report(networks: Vec<NetworkReport>) -> Report {
    let versions = networks.iter().zip(101..).map(|(entry, version)| (entry.name.parse().unwrap(), version));
    let spec =
        NodeSpec { revision: 3, generation: 2, through: 1000, versions: versions.collect(), ..NodeSpec::default() };
    Report {
        spec: Some(Arc::new(spec)),
        networks: networks.into_iter().map(Arc::new).collect(),
        uplinks: Vec::new(),
        engines: Vec::new(),
        engine_ends: Vec::new(),
        affected_pods: Vec::new(),
        policy_pods: Vec::new(),
        findings: Vec::new(),
    }
}

fn status(report: &Report) -> UserspaceNodeStateStatus {
    report.api_status(&[], &Time(k8s_openapi::jiff::Timestamp::UNIX_EPOCH))
}

fn listed(status: &UserspaceNodeStateStatus) -> Vec<&str> {
    status.networks.iter().map(|entry| entry.name.as_str()).collect()
}

fn through(status: &UserspaceNodeStateStatus) -> Option<&str> {
    status.programmed_through.as_deref()
}

#[test]
fn only_exceptions_and_networks_with_pods_are_listed() {
    let report = report(vec![
        programmed("a", 0),
        programmed("b", 2),
        failed("c", "BridgeExists", 0),
        entry("d", NetworkState::Pending, "Waiting", 0),
        draining("e", "", 1),
    ]);
    let status = status(&report);
    assert_eq!((listed(&status), through(&status)), (vec!["b", "c", "d", "e"], Some("1000")));
    assert_eq!(status.observed_generation, Some(2));
    let whole = report.whole_status(&[], &Time(k8s_openapi::jiff::Timestamp::UNIX_EPOCH));
    assert_eq!((whole.networks.len(), whole.summary), (5, status.summary));
}

#[test]
fn what_fails_with_its_engine_is_reported_once() {
    let networks = vec![failed("a", ENGINE_UNREACHABLE, 0), failed("b", ENGINE_UNREACHABLE, 1)];
    let status = status(&report(networks));
    assert_eq!((listed(&status), through(&status)), (vec!["b"], Some("1000")));
}

#[test]
fn a_network_of_a_file_that_leaves_holds_nothing_up() {
    let mut report = report(vec![programmed("a", 0), draining("ovs-br0", FOREIGN_PORTS, 0)]);
    assert_eq!(through(&status(&report)), Some("101"), "one of the API server does");
    let mut spec = NodeSpec::clone(report.spec.as_ref().unwrap());
    spec.versions.insert("ovs-br0".parse().unwrap(), 0);
    report.spec = Some(Arc::new(spec));
    assert_eq!(through(&status(&report)), Some("1000"));
}

#[test]
fn a_draining_network_without_pods_is_not_listed_and_not_counted_as_programmed_before_it_is_removed() {
    let status_with = |gone: NetworkReport| status(&report(vec![programmed("a", 0), gone]));
    let leaving = status_with(draining("b", "", 0));
    assert_eq!((listed(&leaving), through(&leaving)), (vec![], Some("101")));
    let mut gone = report(vec![draining("b", FOREIGN_PORTS, 0)]);
    gone.spec = Some(Arc::new(NodeSpec { through: 1000, ..NodeSpec::default() }));
    assert_eq!(
        (listed(&status(&gone)), through(&status(&gone))),
        (vec!["b"], Some("1000")),
        "it requires operator action"
    );
}

#[test]
fn of_too_many_those_with_pods_are_listed_and_the_others_are_not_counted_as_programmed() {
    let mut networks: Vec<_> = (0..600).map(|number| failed(&format!("n{number:03}"), "EngineRefused", 0)).collect();
    for entry in networks.iter_mut().skip(560) {
        entry.attachments = 1;
    }
    let report = report(networks);
    let status = status(&report);
    assert_eq!(status.networks.len(), REPORTS_MAX);
    assert!(status.networks.is_sorted_by(|one, other| one.name < other.name));
    assert_eq!(status.networks.iter().filter(|entry| entry.attachments > 0).count(), 40);
    // The first that is left out is n472 with version 101 + 472.
    assert_eq!(through(&status), Some("572"));
}

#[test]
fn texts_and_numbers_fit_into_the_schema() {
    let mut long = failed("a", &"R".repeat(100), i64::MAX);
    long.message = format!("one\ntwo {}", "ü".repeat(2000));
    long.generation = i64::MAX;
    let mut report = report(vec![long, programmed("b", i64::MAX)]);
    let version = "9".repeat(200);
    report.engines = vec![EngineReport { engine: EngineKind::Vpp, version, epoch: -1 }];
    report.engine_ends = vec![EngineEnd { engine: EngineKind::Vpp, number: 1, message: "p".repeat(2000) }];
    report.findings = vec![ConditionUpdate::new(READY, Status::False, AGENT_FAILED, "x".repeat(5000))];
    let status = status(&report);
    let entry = &status.networks[0];
    assert_eq!((entry.reason.chars().count(), entry.message.chars().count()), (REASON_MAX, MESSAGE_MAX));
    assert!(entry.message.starts_with("one\\ntwo ü") && entry.message.ends_with('…'), "{}", entry.message);
    assert_eq!((entry.generation, entry.attachments), (NUMBER_MAX, ATTACHMENTS_COUNT_MAX));
    assert_eq!((status.engines[0].version.chars().count(), status.engines[0].epoch), (VERSION_MAX, 0));
    assert_eq!(status.engine_ends[0].message.chars().count(), MESSAGE_MAX);
    assert_eq!(status.conditions[0].message.chars().count(), CONDITION_MESSAGE_MAX);
    assert_eq!(status.summary.attachments, ATTACHMENTS_COUNT_MAX);
    assert!(status.summary.problem.chars().count() <= SUMMARY_MAX);
    assert!(status.summary.engines.chars().count() <= SUMMARY_MAX);
}

#[test]
fn a_node_in_one_line() {
    let mut report = report(vec![programmed("a", 2), failed("b", "BridgeExists", 1), draining("c", "", 4)]);
    report.engines = vec![EngineReport { engine: EngineKind::OpenVswitch, version: "3.1.0".into(), epoch: 1 }];
    let expected = NodeSummary {
        engines: "Open vSwitch 3.1.0".into(),
        networks: "1/2".into(),
        attachments: 7,
        problem: "b: BridgeExists".into(),
    };
    assert_eq!(report.summary(), expected);
    report.networks.truncate(1);
    assert_eq!(report.summary().problem, "");
}

#[test]
fn a_lost_engine_is_the_first_problem_and_one_that_never_was_is_none() {
    let mut report = report(vec![failed("b", ENGINE_UNREACHABLE, 0)]);
    let down = |kind, reason| ConditionUpdate::new(kind, Status::False, reason, "no socket");
    report.findings = vec![down(OVS_CONNECTED, NEVER_SEEN), down(VPP_CONNECTED, DISCONNECTED)];
    assert_eq!(report.summary().problem, "VPP: Disconnected");
    report.findings =
        vec![down(OVS_CONNECTED, NEVER_SEEN), ConditionUpdate::new(VPP_CONNECTED, Status::True, CONNECTED, "")];
    assert_eq!(report.summary().problem, "b: EngineUnreachable");
}

#[test]
fn before_the_first_spec_nothing_is_counted_as_programmed() {
    let report = Report { spec: None, ..report(Vec::new()) };
    let status = status(&report);
    assert_eq!((status.programmed_through, status.observed_generation), (None, None));
}
