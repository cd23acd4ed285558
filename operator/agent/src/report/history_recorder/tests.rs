use super::*;
use crate::testing::{name, network, record};
use std::collections::BTreeSet;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::owner::PortOwner;
use usnet_dataplane::plan::{PlanContext, SpecOrigin};

/// An operation, and why it failed.
type Tried = (Op, Option<Failure>);

fn refused(operation: &Op) -> Tried {
    let error = OpError::Refused { what: "port".into(), reason: "no".into() };
    (operation.clone(), Some(Failure::of(&error)))
}

fn done(operation: &Op) -> Tried {
    (operation.clone(), None)
}

fn create(record: &Record) -> Op {
    Op::CreatePort { port: DesiredPort::of_attachment(record).into() }
}

fn update(record: &Record) -> Op {
    Op::UpdatePort { port: DesiredPort::of_attachment(record).into() }
}

struct Scene {
    recorder: HistoryRecorder,
    context: PlanContext,
    since: Instant,
    desired: Desired,
    network_health: BTreeMap<NetworkName, NetworkHealth>,
}

impl Scene {
    fn new(records: &[Record]) -> Self {
        Self {
            recorder: HistoryRecorder::new(EngineKind::Vpp),
            context: PlanContext::default(),
            since: Instant::now(),
            desired: Desired::new(vec![network("blue")], records),
            network_health: BTreeMap::from([(name("blue"), NetworkHealth::PROGRAMMED)]),
        }
    }

    fn reconcile(&mut self, tried: Vec<Tried>, remaining: &[Op]) -> Vec<Change> {
        let observation = Observation { desired: &self.desired, remaining, network_health: &self.network_health };
        let time = MicroTime(k8s_openapi::jiff::Timestamp::UNIX_EPOCH);
        let now = Now { instant: self.since + Duration::from_millis(9), time };
        self.context.unresolved = self.recorder.unresolved();
        let attempts = tried.into_iter().map(|(op, failure)| {
            let planned = PlannedOp { cause: self.context.cause_of(&op, &self.desired), op };
            Attempt { planned, failure }
        });
        self.recorder.changes(attempts.collect(), self.since, Some(observation), now)
    }

    fn cause(&mut self, tried: Tried) -> Cause {
        self.reconcile(vec![tried], &[]).remove(0).cause
    }
}

#[test]
fn each_cause_has_its_reason() {
    let bridge = Op::CreateBridge {
        bridge: DesiredBridge::Network { network: name("blue"), bridge: network("blue").bridge, policy_zone: None },
    };
    let mut scene = Scene::new(&[]);
    assert_eq!(scene.cause(done(&bridge)), Cause::NewSpec);
    scene.context.spec = SpecOrigin::Inherited;
    assert_eq!(scene.cause(done(&bridge)), Cause::AgentStarted, "the spec is the one that an earlier agent had");
    scene.context.spec = SpecOrigin::Known;
    assert_eq!(scene.cause(done(&bridge)), Cause::Retry, "the network was not programmed yet");
    scene.context.programmed = BTreeSet::from([name("blue")]);
    assert_eq!(scene.cause(done(&bridge)), Cause::Drift);
    let new = record("c2", &network("blue"));
    assert_eq!(scene.cause(done(&create(&new))), Cause::PodAttached, "its ADD may just have completed");
    scene.context.attached = BTreeSet::from([new.id.clone()]);
    assert_eq!(scene.cause(done(&create(&new))), Cause::Drift);
    scene.context.restarted = Some(3);
    assert_eq!(scene.cause(done(&bridge)), Cause::EngineRestarted { epoch: 3 });
    let gone = record("c1", &network("blue"));
    let owner = PortOwner::new(&gone.network, &gone.id);
    let removal = Op::RemovePort { bridge: None, port: gone.port.name, owner, backend: None, interface_index: None };
    assert_eq!(scene.cause(done(&removal)), Cause::PodEnded);
}

#[test]
fn a_partial_failure_is_recorded_once_and_then_its_resolution() {
    let record = record("c1", &network("blue"));
    let port = create(&record);
    let mut scene = Scene::new(&[record]);
    let first = scene.reconcile(vec![refused(&port)], std::slice::from_ref(&port));
    assert_eq!((first.len(), first[0].milliseconds), (1, 9));
    assert!(matches!(&first[0].outcome, Outcome::RolledBack { message } if message.contains("no")), "{first:?}");
    assert_eq!(scene.reconcile(vec![refused(&port)], std::slice::from_ref(&port)), [], "a storm of tries is one line");
    let last = scene.reconcile(vec![done(&port)], &[]);
    assert_eq!((last.len(), &last[0].cause, &last[0].outcome), (1, &Cause::Retry, &Outcome::CompletedLater));
    assert_eq!(scene.reconcile(vec![done(&port)], &[])[0].outcome, Outcome::Done, "that was another time");
}

#[test]
fn what_the_engine_completed_by_itself_later_was_completed() {
    let record = record("c1", &network("blue"));
    let port = create(&record);
    let mut scene = Scene::new(&[record]);
    scene.network_health.insert(name("blue"), NetworkHealth::failed("PortFailed", "no"));
    let first = scene.reconcile(vec![refused(&port)], &[]);
    assert!(matches!(first[0].outcome, Outcome::Failed { .. }), "nothing was taken back: {first:?}");
    assert_eq!(scene.reconcile(Vec::new(), &[]), []);
    scene.network_health.insert(name("blue"), NetworkHealth::PROGRAMMED);
    assert_eq!(scene.reconcile(Vec::new(), &[])[0].outcome, Outcome::CompletedLater);
    assert_eq!(scene.reconcile(Vec::new(), &[]), []);
}

#[test]
fn what_was_rolled_back_and_is_no_longer_desired_is_recorded_once() {
    let record = record("c1", &network("blue"));
    let port = create(&record);
    let mut scene = Scene::new(&[record]);
    scene.reconcile(vec![refused(&port)], std::slice::from_ref(&port));
    scene.desired = Desired::new(vec![network("blue")], &[]);
    assert_eq!(scene.reconcile(Vec::new(), &[]), []);
    assert!(scene.recorder.open_failures.is_empty());
}

#[test]
fn what_is_incomplete_and_no_longer_desired_is_rolled_back_once_it_is_removed() {
    let record = record("c1", &network("blue"));
    let port = create(&record);
    let owner = PortOwner::new(&record.network, &record.id);
    let removed = record.port.name.clone();
    let removal = Op::RemovePort { bridge: None, port: removed, owner, backend: None, interface_index: None };
    let mut scene = Scene::new(&[record]);
    scene.network_health.insert(name("blue"), NetworkHealth::failed("PortFailed", "no"));
    scene.reconcile(vec![refused(&port)], &[]);
    scene.desired = Desired::new(vec![network("blue")], &[]);
    assert_eq!(scene.reconcile(Vec::new(), std::slice::from_ref(&removal)), [], "something is left");
    let changes = scene.reconcile(vec![done(&removal)], &[]);
    assert_eq!((changes.len(), &changes[0].cause, &changes[0].outcome), (2, &Cause::PodEnded, &Outcome::Done));
    assert!(matches!(&changes[1].outcome, Outcome::RolledBack { message } if message.contains("no longer desired")));
    assert_eq!((&changes[1].operation, &changes[1].cause), (&port.to_string(), &Cause::PodEnded));
}

#[test]
fn what_is_incomplete_is_not_completed_before_the_rest_is_done() {
    let record = record("c1", &network("blue"));
    let port = create(&record);
    let rest = update(&record);
    let mut scene = Scene::new(&[record]);
    let first = scene.reconcile(vec![refused(&port)], std::slice::from_ref(&rest));
    assert_eq!(first.len(), 1, "{first:?}");
    scene.context.spec = SpecOrigin::Known;
    let last = scene.reconcile(vec![done(&rest)], &[]);
    let changes: Vec<_> = last.iter().map(|change| (&change.cause, &change.outcome)).collect();
    assert_eq!(changes, [(&Cause::Retry, &Outcome::Done), (&Cause::Retry, &Outcome::CompletedLater)]);
}

#[test]
fn a_setting_that_failed_and_was_rolled_back_was_not_completed() {
    let wanted = record("c1", &network("blue"));
    let mut tried = wanted.clone();
    tried.port.settings.mtu = usnet_crds::Mtu::try_from(9000).unwrap();
    let large = update(&tried);
    let mut scene = Scene::new(&[wanted]);
    scene.reconcile(vec![refused(&large)], std::slice::from_ref(&large));
    let changes = scene.reconcile(Vec::new(), &[]);
    assert!(matches!(changes[0].outcome, Outcome::RolledBack { .. }), "{changes:?}");
    assert_eq!(changes[0].cause, Cause::NewSpec);
}

#[test]
fn a_thousand_ports_are_one_entry_and_a_failure_among_them_is_its_own() {
    let records: Vec<_> = (0..1000).map(|number| record(&format!("c{number}"), &network("blue"))).collect();
    let mut scene = Scene::new(&records);
    scene.context.restarted = Some(2);
    let mut attempts: Vec<_> = records.iter().map(|record| done(&create(record))).collect();
    let failing = create(&records[500]);
    attempts[500] = refused(&failing);
    let changes = scene.reconcile(attempts, std::slice::from_ref(&failing));
    let texts: Vec<_> = changes.iter().map(|change| change.operation.as_str()).collect();
    assert_eq!(texts, ["create 999 ports", failing.to_string().as_str()]);
    assert_eq!((changes[0].network.as_deref(), changes[1].attachment.as_deref()), (Some("blue"), Some("c500.net1")));
}
