use super::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::slice::from_ref;
use tokio::sync::watch;
use usnet_crds::conditions::reason::{CONNECTED, DISCONNECTED, IN_USE};
use usnet_crds::conditions::{OVS_CONNECTED, VPP_CONNECTED};

const ENGINES: [EngineKind; 2] = EngineKind::ALL;

fn entry(name: &str, generation: i64, state: NetworkState, pods: &[&str]) -> NetworkReport {
    let is_done = matches!(state, NetworkState::Programmed);
    NetworkReport {
        name: name.to_owned(),
        generation,
        state,
        reason: if is_done { String::new() } else { IN_USE.to_owned() },
        message: if is_done { String::new() } else { "no tap".to_owned() },
        attachments: i64::try_from(pods.len()).unwrap(),
        connected: 1,
        pods: pods.iter().map(|pod| (*pod).to_owned()).collect(),
        degraded: Vec::new(),
    }
}

fn facts(engine: EngineKind, revision: u64, networks: &[NetworkReport]) -> EngineFacts {
    facts_of(engine, NodeSpec { revision, generation: 4, ..NodeSpec::default() }, networks)
}

fn facts_of(engine: EngineKind, spec: NodeSpec, networks: &[NetworkReport]) -> EngineFacts {
    let kind = if engine == EngineKind::Vpp { VPP_CONNECTED } else { OVS_CONNECTED };
    EngineFacts {
        spec: Some(Arc::new(spec)),
        networks: networks.iter().cloned().map(Arc::new).collect(),
        uplinks: Vec::new(),
        degraded: BTreeMap::new(),
        engine: None,
        affected_pods: Vec::new(),
        policy_pods: Vec::new(),
        last_end: None,
        connected: ConditionUpdate::new(kind, Status::True, "Connected", ""),
    }
}

/// The report when both engines have these results.
fn merged(revisions: [u64; 2], networks: [&[NetworkReport]; 2]) -> Report {
    let (sender, reports) = watch::channel(None);
    let mut node_report = NodeReport::new(sender);
    for ((engine, revision), networks) in ENGINES.into_iter().zip(revisions).zip(networks) {
        node_report.update(engine, facts(engine, revision, networks));
    }
    reports.borrow().clone().expect("both are known")
}

fn ready_of(report: &Report) -> &ConditionUpdate {
    finding(report, READY)
}

fn finding<'a>(report: &'a Report, kind: &str) -> &'a ConditionUpdate {
    report.findings.iter().find(|finding| finding.kind == kind).expect("each report says it")
}

#[test]
fn both_engines_are_in_one_report() {
    let programmed = |name| entry(name, 1, NetworkState::Programmed, &[]);
    let report = merged([4, 4], [&[programmed("b"), programmed("d")], &[programmed("a"), programmed("c")]]);
    let names: Vec<_> = report.networks.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    let kinds: Vec<_> = report.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [READY, NETWORKS_PROGRAMMED, OVS_CONNECTED, VPP_CONNECTED]);
    let said = |report: &Report| {
        [READY, NETWORKS_PROGRAMMED].map(|kind| (finding(report, kind).status, finding(report, kind).reason.clone()))
    };
    let all = [AGENT_READY, ALL_PROGRAMMED].map(|reason| (Status::True, reason.to_owned()));
    assert_eq!(said(&report), all);
    assert_eq!(said(&merged([1, 1], [&[], &[]])), all, "nothing is asked of this node");
}

#[test]
fn a_network_that_is_not_programmed_is_named_and_the_node_stays_ready() {
    let blue = entry("blue", 1, NetworkState::Programmed, &[]);
    let red = entry("red", 1, NetworkState::Failed, &[]);
    let report = merged([1, 1], [&[blue], &[red]]);
    let ConditionUpdate { status, reason, message, .. } = finding(&report, NETWORKS_PROGRAMMED);
    assert_eq!((*status, reason.as_str()), (Status::False, NOT_PROGRAMMED));
    assert!(message.contains("1 of 2") && message.contains("red: no tap"), "{message}");
    assert_eq!(ready_of(&report).status, Status::True, "each node of a network with a wrong spec would be unready");
}

#[test]
fn an_engine_that_is_down_makes_the_node_unready_and_one_that_it_never_had_does_not() {
    let with = |status, reason: &str| {
        let (sender, reports) = watch::channel(None);
        let mut node_report = NodeReport::new(sender);
        for (engine, kind) in ENGINES.into_iter().zip([OVS_CONNECTED, VPP_CONNECTED]) {
            let connected = match engine {
                EngineKind::OpenVswitch => ConditionUpdate::new(kind, Status::True, CONNECTED, ""),
                EngineKind::Vpp => ConditionUpdate::new(kind, status, reason, "no connection to VPP"),
            };
            node_report.update(engine, EngineFacts { connected, ..facts(engine, 1, &[]) });
        }
        let report = reports.borrow().clone().unwrap();
        let ready = ready_of(&report).clone();
        (ready.status, ready.reason, ready.message)
    };
    let down = (Status::False, ENGINE_UNREACHABLE.to_owned(), "no connection to VPP".to_owned());
    assert_eq!(with(Status::False, DISCONNECTED), down);
    assert_eq!(with(Status::False, NEVER_SEEN).0, Status::True);
}

#[test]
fn a_spec_is_observed_once_both_engines_have_worked_on_it() {
    assert_eq!(merged([4, 3], [&[], &[]]).revision(), Some(3));
    assert_eq!(merged([3, 4], [&[], &[]]).revision(), Some(3));
    assert_eq!(merged([4, 4], [&[], &[]]).revision(), Some(4));
}

#[test]
fn an_engine_that_confirms_a_spec_is_reported_once_the_other_has_worked_on_it() {
    let (sender, mut reports) = watch::channel(None);
    let mut node_report = NodeReport::new(sender);
    ENGINES.into_iter().for_each(|engine| node_report.update(engine, facts(engine, 4, &[])));
    let revision = |report: &Option<Report>| report.as_ref()?.spec.as_ref().map(|spec| spec.revision);
    assert_eq!(revision(&reports.borrow_and_update()), Some(4));
    let new = Arc::new(NodeSpec { revision: 5, ..NodeSpec::default() });
    node_report.confirm_spec(ENGINES[0], &new);
    assert!(!reports.has_changed().unwrap(), "the other engine still works on it");
    node_report.confirm_spec(ENGINES[1], &new);
    assert_eq!(revision(&reports.borrow_and_update()), Some(5));
    node_report.mark_failed(ENGINES[0], "no memory".to_owned());
    assert_eq!(ready_of(reports.borrow_and_update().as_ref().unwrap()).reason, AGENT_FAILED);
    node_report.confirm_spec(ENGINES[0], &Arc::new(NodeSpec { revision: 6, ..NodeSpec::default() }));
    assert_eq!(ready_of(reports.borrow_and_update().as_ref().unwrap()).reason, AGENT_READY);
}

#[test]
fn a_network_that_the_node_cannot_have_is_a_failure_with_the_pods_that_it_had() {
    let refused = |name: &str| RefusedNetwork {
        name: name.parse().unwrap(),
        generation: 3,
        engine: None,
        reason: "BridgeConflict".into(),
        message: "br0 belongs to blue".into(),
    };
    let spec = NodeSpec { revision: 1, refused: vec![refused("green"), refused("red")], ..NodeSpec::default() };
    let left = entry("red", 2, NetworkState::Draining, &["default/old"]);
    let (sender, reports) = watch::channel(None);
    let mut node_report = NodeReport::new(sender);
    node_report.update(EngineKind::OpenVswitch, facts_of(EngineKind::OpenVswitch, spec.clone(), &[left]));
    node_report.update(EngineKind::Vpp, facts_of(EngineKind::Vpp, spec, &[]));
    let report = reports.borrow().clone().unwrap();
    let entries: Vec<_> = report.networks.iter().map(|it| (it.name.as_str(), it.state, it.attachments)).collect();
    assert_eq!(entries, [("green", NetworkState::Failed, 0), ("red", NetworkState::Failed, 1)]);
    assert_eq!((report.networks[1].reason.as_str(), report.networks[1].generation), ("BridgeConflict", 3));
    assert_eq!(finding(&report, NETWORKS_PROGRAMMED).reason, NOT_PROGRAMMED);
}

#[test]
fn a_network_with_pods_on_both_engines_is_one_entry() {
    let leftover = entry("blue", 0, NetworkState::Draining, &["default/old", "default/both"]);
    let wanted = entry("blue", 2, NetworkState::Programmed, &["default/both", "default/new"]);
    for (first, second) in [(&leftover, &wanted), (&wanted, &leftover)] {
        let report = merged([1, 1], [from_ref(first), from_ref(second)]);
        let [entry] = report.networks.as_slice() else { panic!("{report:?}") };
        assert_eq!((entry.state, entry.generation), (NetworkState::Programmed, 2));
        assert_eq!((entry.attachments, entry.connected, entry.pods.len()), (4, 2, 3));
    }
}

#[test]
fn nothing_is_reported_before_both_engines_are_known_or_one_times_out() {
    let (sender, reports) = watch::channel(None);
    let mut node_report = NodeReport::new(sender);
    node_report.stop_waiting();
    assert_eq!(*reports.borrow(), None, "nothing is known");
    node_report.waits_for_all = true;
    node_report.update(EngineKind::OpenVswitch, facts(EngineKind::OpenVswitch, 1, &[]));
    assert_eq!(*reports.borrow(), None);
    node_report.stop_waiting();
    let partial = reports.borrow().clone().expect("Open vSwitch does not wait for VPP");
    assert_eq!((ready_of(&partial).status, partial.revision()), (Status::Unknown, None));
    assert!(ready_of(&partial).message.contains("VPP"), "{partial:?}");
    assert_eq!(finding(&partial, NETWORKS_PROGRAMMED).status, Status::Unknown);
}

#[test]
fn the_same_report_is_sent_once_and_a_problem_until_it_is_resolved() {
    let (sender, mut reports) = watch::channel(None);
    let mut node_report = NodeReport::new(sender);
    let post_both =
        |node_report: &mut NodeReport| ENGINES.map(|engine| node_report.update(engine, facts(engine, 1, &[])));
    post_both(&mut node_report);
    reports.mark_unchanged();
    post_both(&mut node_report);
    assert!(!reports.has_changed().unwrap());
    node_report.mark_failed(EngineKind::Vpp, "no space left".to_owned());
    let spoiled = reports.borrow().clone().unwrap();
    assert_eq!(
        (ready_of(&spoiled).reason.as_str(), ready_of(&spoiled).message.as_str()),
        (AGENT_FAILED, "no space left")
    );
    node_report.update(EngineKind::OpenVswitch, facts(EngineKind::OpenVswitch, 1, &[]));
    assert_eq!(ready_of(&reports.borrow().clone().unwrap()).reason, AGENT_FAILED);
    node_report.update(EngineKind::Vpp, facts(EngineKind::Vpp, 1, &[]));
    assert_eq!(ready_of(&reports.borrow().clone().unwrap()).status, Status::True);
}

#[test]
fn a_state_directory_that_cannot_be_written_comes_before_everything_else() {
    let (sender, reports) = watch::channel(None);
    let mut node_report = NodeReport::new(sender);
    ENGINES.into_iter().for_each(|engine| node_report.update(engine, facts(engine, 1, &[])));
    node_report.mark_failed(EngineKind::Vpp, "cannot list".to_owned());
    node_report.set_state_problem(Some("disk full".to_owned()));
    let ready = |problem: &str| {
        let report = reports.borrow().clone().unwrap();
        let ready = ready_of(&report);
        assert_eq!((ready.status, ready.message.as_str()), (Status::False, problem));
        ready.reason.clone()
    };
    assert_eq!(ready("disk full"), STATE_NOT_WRITABLE);
    node_report.set_state_problem(None);
    assert_eq!(ready("cannot list"), AGENT_FAILED);
}

#[test]
fn metrics_that_are_not_served_are_a_condition_of_their_own_and_the_node_stays_ready() {
    let (sender, mut reports) = watch::channel(None);
    let mut node_report = NodeReport::new(sender);
    ENGINES.into_iter().for_each(|engine| node_report.update(engine, facts(engine, 1, &[])));
    let served = |reports: &mut watch::Receiver<Option<Report>>| {
        let report = reports.borrow_and_update().clone().unwrap();
        assert_eq!(ready_of(&report).status, Status::True);
        let found = report.findings.iter().find(|finding| finding.kind == METRICS_SERVED).cloned();
        let problem = report.api_status(&[], &Time(k8s_openapi::jiff::Timestamp::UNIX_EPOCH)).summary.problem;
        (found.map(|found| (found.status, found.reason, found.message)), problem)
    };
    assert_eq!(served(&mut reports), (None, String::new()));
    node_report.set_unserved(Some("cannot listen at 127.0.0.1:28181".to_owned()));
    let message = "cannot listen at 127.0.0.1:28181".to_owned();
    let found = (Status::False, ADDRESS_TAKEN.to_owned(), message.clone());
    assert_eq!(served(&mut reports), (Some(found), "MetricsServed: AddressTaken".to_owned()));
    node_report.set_unserved(Some(message));
    assert!(!reports.has_changed().unwrap(), "the same is reported once");
    node_report.set_unserved(None);
    assert_eq!(served(&mut reports), (None, String::new()));
}

#[test]
fn configurations_that_cannot_be_used_are_a_condition_and_the_node_stays_ready() {
    let (sender, mut reports) = watch::channel(None);
    let mut node_report = NodeReport::new(sender);
    ENGINES.into_iter().for_each(|engine| node_report.update(engine, facts(engine, 1, &[])));
    node_report.set_configuration_problem(Some("90-userspace.conf".to_owned()));
    let report = reports.borrow_and_update().clone().unwrap();
    assert_eq!(ready_of(&report).status, Status::True);
    let found = report.findings.iter().find(|finding| finding.kind == CONFIGURATIONS_ACCEPTED).unwrap();
    assert_eq!((found.status, found.reason.as_str()), (Status::False, CONFIGURATION_INVALID));
    let status = report.api_status(&[], &Time(k8s_openapi::jiff::Timestamp::UNIX_EPOCH));
    assert_eq!(status.summary.problem, "ConfigurationsAccepted: ConfigurationInvalid");
    node_report.set_configuration_problem(None);
    let report = reports.borrow_and_update().clone().unwrap();
    assert!(report.findings.iter().all(|finding| finding.kind != CONFIGURATIONS_ACCEPTED));
}

#[test]
fn a_node_whose_uplink_is_not_programmed_says_so() {
    let uplink = |name: &str, state, message: &str| UplinkReport {
        name: name.to_owned(),
        generation: 1,
        state,
        reason: "NicMissing".to_owned(),
        message: message.to_owned(),
        nic: String::new(),
        active_member: String::new(),
    };
    let (sender, reports) = watch::channel(None);
    let mut node_report = NodeReport::new(sender);
    let [first, second] = ENGINES;
    let fab = uplink("fab", UplinkState::Failed, "this node has no NIC eth1");
    node_report.update(first, EngineFacts { uplinks: vec![fab.clone()], ..facts(first, 1, &[]) });
    let lab = uplink("lab", UplinkState::Programmed, "");
    node_report.update(second, EngineFacts { uplinks: vec![lab.clone()], ..facts(second, 1, &[]) });
    let report = reports.borrow().clone().expect("both are known");
    assert_eq!(report.uplinks, [fab, lab]);
    let programmed = finding(&report, NETWORKS_PROGRAMMED);
    assert_eq!((programmed.status, programmed.reason.as_str()), (Status::False, "NotProgrammed"));
    assert_eq!(programmed.message, "uplink fab: this node has no NIC eth1");
    assert_eq!(ready_of(&report).status, Status::True);
}

#[test]
fn affected_pods_of_both_engines_are_in_one_list() {
    let (sender, reports) = watch::channel(None);
    let mut node_report = NodeReport::new(sender);
    for engine in ENGINES {
        let pod = |number: usize| AffectedPod {
            pod: format!("default/c{number}"),
            uid: "0-1".to_owned(),
            network: "blue".to_owned(),
            engine,
            reason: "NetworkDraining".to_owned(),
        };
        let affected_pods = (100..100 + AFFECTED_PODS_MAX).map(pod).collect();
        node_report.update(engine, EngineFacts { affected_pods, ..facts(engine, 1, &[]) });
    }
    let report = reports.borrow().clone().expect("both are known");
    assert_eq!(report.affected_pods.len(), AFFECTED_PODS_MAX);
    assert!(report.affected_pods.is_sorted());
    assert_eq!(ENGINES.map(|engine| report.affected_pods.iter().filter(|pod| pod.engine == engine).count()), [50, 50]);
    let status = report.api_status(&[], &Time(k8s_openapi::jiff::Timestamp::UNIX_EPOCH));
    assert_eq!(status.affected_pods, report.affected_pods);
}
