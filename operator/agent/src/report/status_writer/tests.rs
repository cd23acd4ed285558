use super::*;
use crate::model::spec::NodeSpec;
use crate::testing::network;
use std::sync::Arc;
use usnet_common::testing::api_server::{Answer, ApiServer};
use usnet_crds::NodeNetwork;
use usnet_crds::conditions::{ConditionUpdate, OVS_CONNECTED};
use usnet_crds::node_state::{NetworkReport, NetworkState, PolicyPod};

fn report(revision: u64, status: Status) -> Report {
    Report {
        spec: Some(Arc::new(NodeSpec { revision, generation: 1, through: 7, ..NodeSpec::default() })),
        networks: Vec::new(),
        uplinks: Vec::new(),
        engines: Vec::new(),
        engine_ends: Vec::new(),
        affected_pods: Vec::new(),
        policy_pods: Vec::new(),
        findings: vec![ConditionUpdate::new(READY, status, "Reason", "text")],
    }
}

fn no_attachments() -> Reported {
    Reported { generation: 100, attachments: Vec::new() }
}

fn at(second: i64) -> Time {
    Time(Timestamp::from_second(second).unwrap())
}

fn present(version: u64, status: UserspaceNodeStateStatus) -> StoredStatus {
    StoredStatus { lists: 1, version, status }
}

fn writer(written: Option<StoredStatus>) -> Writer {
    let service = tower::service_fn(|_| async {
        Err::<http::Response<kube::client::Body>, tower::BoxError>("no API server".into())
    });
    Writer {
        api: Api::all(Client::new(service, "default")),
        node: "node-a".into(),
        metrics: Metrics::new().unwrap(),
        backoff: Backoff::new(FIRST_WAIT, LONGEST_WAIT),
        is_failing: false,
        not_before: None,
        written,
    }
}

#[tokio::test]
async fn what_the_object_says_already_is_not_written() {
    let empty = present(4, UserspaceNodeStateStatus::default());
    let report = report(1, Status::True);
    let first = writer(None).due(Some(&report), Some(&no_attachments()), Some(&empty)).expect("nothing is there yet");
    // As the API server returns it.
    let stored: UserspaceNodeStateStatus = serde_json::from_value(serde_json::to_value(&first).unwrap()).unwrap();
    assert_eq!(writer(None).due(Some(&report), Some(&no_attachments()), Some(&present(5, stored))), None);
    let written = writer(Some(present(5, first)));
    assert_eq!(
        written.due(Some(&report), Some(&no_attachments()), Some(&empty)),
        None,
        "the watch does not show the write yet"
    );
}

#[tokio::test]
async fn pods_of_networks_with_policies_stay_reported_until_all_engines_were_looked_at() {
    let pod = PolicyPod { network: "blue".to_owned(), uid: "u".to_owned(), addresses: [].into() };
    let known = Report { policy_pods: vec![pod.clone()], ..report(1, Status::True) };
    let old = present(4, known.api_status(&[], &at(10)));
    let pods = |spec| {
        let next = Report { spec, ..report(1, Status::False) };
        writer(None).due(Some(&next), Some(&no_attachments()), Some(&old)).expect("the condition changed").policy_pods
    };
    assert_eq!((pods(None), pods(report(1, Status::True).spec)), (vec![pod], vec![]));
}

#[tokio::test]
async fn transition_times_outlive_the_agent() {
    let old = report(1, Status::True).api_status(&[], &at(10));
    let mut next = report(1, Status::True);
    next.spec = Some(Arc::new(NodeSpec { revision: 2, generation: 2, ..NodeSpec::default() }));
    let status =
        writer(None).due(Some(&next), Some(&no_attachments()), Some(&present(4, old))).expect("the generation changed");
    assert_eq!(status.conditions[0].last_transition_time, at(10));
}

#[tokio::test]
async fn a_status_that_was_changed_by_others_is_written_again() {
    let report = report(1, Status::True);
    let ours = report.api_status(&[], &at(10));
    let mut defaced = ours.clone();
    defaced.summary.problem = "none".into();
    let written = writer(Some(present(5, ours.clone())));
    assert_eq!(written.due(Some(&report), Some(&no_attachments()), Some(&present(6, defaced))), Some(ours));
}

#[tokio::test]
async fn an_object_that_was_recreated_or_restored_gets_its_status_again() {
    let report = report(1, Status::True);
    let ours = report.api_status(&[], &at(10));
    let written = writer(Some(present(5, ours)));
    assert_eq!(written.due(Some(&report), Some(&no_attachments()), None), None, "there is no object");
    assert!(
        written
            .due(Some(&report), Some(&no_attachments()), Some(&present(9, UserspaceNodeStateStatus::default())))
            .is_some()
    );
    let restored = StoredStatus { lists: 2, ..present(3, UserspaceNodeStateStatus::default()) };
    assert!(
        written.due(Some(&report), Some(&no_attachments()), Some(&restored)).is_some(),
        "versions went back with the list"
    );
}

#[tokio::test]
async fn what_an_earlier_run_left_is_not_reported_before_it_is_confirmed() {
    let empty = present(4, UserspaceNodeStateStatus::default());
    assert_eq!(writer(None).due(Some(&report(0, Status::True)), Some(&no_attachments()), Some(&empty)), None);
}

#[tokio::test]
async fn a_rejected_write_is_retried_after_the_delay_that_the_api_server_requests() {
    let service = tower::service_fn(|_| async {
        let body = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 429, "reason": "TooManyRequests", "message": "slow down", "details": {"retryAfterSeconds": 30}}"#;
        let response = http::Response::builder().status(429).body(kube::client::Body::from(body.as_bytes().to_vec()));
        response.map_err(tower::BoxError::from)
    });
    let mut writer = Writer { api: Api::all(Client::new(service, "default")), ..writer(None) };
    writer.write(&UserspaceNodeStateStatus::default(), 1).await;
    let wait = writer.not_before.unwrap().saturating_duration_since(Instant::now());
    assert!((Duration::from_secs(29)..=Duration::from_secs(45)).contains(&wait), "{wait:?}");
    assert_eq!(writer.written, None);
}

/// What the writer sends while this happens to the reports.
async fn patches(reports: impl AsyncFnOnce(&watch::Sender<Option<Report>>)) -> usize {
    let server = ApiServer::choosing(|_| {
        let object = r#"{"apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNodeState", "metadata": {"name": "node-a", "resourceVersion": "9"}, "spec": {}}"#;
        Some(Answer::ok(object.to_owned()))
    });
    let (sender, receiver) = watch::channel(None);
    let (_present, present_in_writer) = watch::channel(Some(present(4, UserspaceNodeStateStatus::default())));
    let (_attachments, attachments) = watch::channel(Some(no_attachments()));
    let metrics = Metrics::new().unwrap();
    let sources = Sources { reports: receiver, attachments, present: present_in_writer };
    let happen = async {
        reports(&sender).await;
        // Nothing is left to be written after this.
        tokio::time::sleep(Duration::from_millis(2500)).await;
    };
    tokio::select! {
        () = write(server.client(), "node-a".into(), sources, metrics) => panic!("it ended"),
        () = happen => {}
    }
    assert!(
        server.requests().iter().all(|request| request.starts_with("PATCH ") && request.contains("/node-a/status"))
    );
    server.requests().len()
}

#[tokio::test]
async fn a_burst_of_a_hundred_reports_is_two_writes() {
    let burst = patches(async |reports| {
        for revision in 1..=100 {
            let mut report = report(revision, Status::True);
            report.spec = Some(Arc::new(NodeSpec { revision, through: revision, ..NodeSpec::default() }));
            reports.send_replace(Some(report));
            tokio::time::sleep(Duration::from_millis(13)).await;
        }
    });
    let same = patches(async |reports| {
        for revision in 1..=20 {
            reports.send_replace(Some(report(revision, Status::True)));
            tokio::time::sleep(Duration::from_millis(13)).await;
        }
    });
    assert_eq!(tokio::join!(burst, same), (2, 1), "reports that say the same are one");
}

/// Otherwise the controller could take an interface for detached whose request the agent has not
/// received yet.
#[tokio::test]
async fn a_generation_is_observed_once_its_attachments_are() {
    let empty = present(4, UserspaceNodeStateStatus::default());
    let mut next = report(1, Status::True);
    next.spec = Some(Arc::new(NodeSpec { revision: 1, generation: 7, ..NodeSpec::default() }));
    let observed = |attachments: Option<Reported>| {
        let due = writer(None).due(Some(&next), attachments.as_ref(), Some(&empty));
        due.map(|status| status.observed_generation)
    };
    assert_eq!(observed(Some(Reported { generation: 6, ..no_attachments() })), Some(Some(6)));
    assert_eq!(observed(Some(no_attachments())), Some(Some(7)));
    assert_eq!(observed(None), None, "what is stored stays");
}

/// A report of these networks, each with its generation.
fn report_of(networks: &[(&NodeNetwork, i64)]) -> Report {
    let spec = NodeSpec {
        revision: 1,
        networks: networks.iter().map(|(network, _)| Arc::new(NodeNetwork::clone(network))).collect(),
        ..NodeSpec::default()
    };
    let networks = networks.iter().map(|(network, generation)| NetworkReport {
        name: network.name.to_string(),
        generation: *generation,
        state: NetworkState::Programmed,
        reason: String::new(),
        message: String::new(),
        attachments: 0,
        connected: 0,
        pods: Vec::new(),
        degraded: Vec::new(),
    });
    Report { spec: Some(Arc::new(spec)), networks: networks.map(Arc::new).collect(), ..report(1, Status::True) }
}

#[test]
fn users_wait_for_their_networks_and_for_pods_but_not_for_networks_from_nads() {
    let (blue, from_nad) = (network("blue"), NodeNetwork { name: "ovs-br-blue".parse().unwrap(), ..network("blue") });
    let before = report_of(&[(&blue, 1), (&from_nad, 1)]);
    let mut after = report_of(&[(&blue, 1), (&from_nad, 2)]);
    Arc::make_mut(&mut after.networks[1]).state = NetworkState::Failed;
    assert_eq!(after.awaited(), before.awaited());
    assert_eq!(report_of(&[(&blue, 1)]).awaited(), before.awaited());
    Arc::make_mut(&mut after.networks[1]).attachments = 1;
    assert_ne!(after.awaited(), before.awaited());
    assert_ne!(report_of(&[(&blue, 2), (&from_nad, 1)]).awaited(), before.awaited());
    let mut ended = before.clone();
    ended.findings.push(ConditionUpdate::new(OVS_CONNECTED, Status::False, "Disconnected", "gone"));
    assert_ne!(ended.awaited(), before.awaited());
}

#[tokio::test]
async fn a_node_that_is_ready_again_or_has_its_networks_again_recovers() {
    let status = |ready| report(1, ready).api_status(&[], &at(10));
    let with_networks = |programmed| {
        let mut report = report(1, Status::True);
        report.findings.push(ConditionUpdate::new(NETWORKS_PROGRAMMED, programmed, "Reason", "text"));
        report.api_status(&[], &at(10))
    };
    let stored = present(4, with_networks(Status::False));
    assert!(writer(None).is_recovery(Some(&with_networks(Status::True)), Some(&stored)));
    assert!(!writer(None).is_recovery(Some(&with_networks(Status::False)), Some(&stored)));
    let is_recovery = |due, stored| writer(None).is_recovery(Some(&status(due)), Some(&present(4, status(stored))));
    assert!(is_recovery(Status::True, Status::False));
    assert!(!is_recovery(Status::True, Status::True) && !is_recovery(Status::False, Status::False));
    let written = writer(Some(present(5, status(Status::True))));
    assert!(
        !written.is_recovery(Some(&status(Status::True)), Some(&present(4, status(Status::False)))),
        "it is written"
    );
}
