use super::*;
use crate::agent::testing::{name, network, record};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::desired::Desired;

fn refused(operation: &Op) -> Attempt {
    let error = OpError::Refused { what: "port".into(), reason: "no".into() };
    Attempt { operation: operation.clone(), failure: Some(Failure::of(&error)) }
}

fn done(operation: &Op) -> Attempt {
    Attempt { operation: operation.clone(), failure: None }
}

fn create(record: &Record) -> Op {
    Op::CreatePort { network: record.network.clone(), attachment: record.id.clone(), port: record.port.clone() }
}

struct Scene {
    recorder: Recorder,
    cause: Cause,
    desired: Desired,
    verdicts: BTreeMap<NetworkName, Verdict>,
}

impl Scene {
    fn new(records: &[Record]) -> Self {
        Self {
            recorder: Recorder::new(Engine::Vpp),
            cause: Cause { is_new_spec: true, is_inherited: false, restarted: None, since: Instant::now() },
            desired: Desired::new(vec![network("blue")], records),
            verdicts: BTreeMap::from([(name("blue"), Verdict::PROGRAMMED)]),
        }
    }

    fn pass(&mut self, attempts: Vec<Attempt>, left: &[Op]) -> Vec<Change> {
        let aftermath = Aftermath { desired: &self.desired, left, verdicts: &self.verdicts };
        let time = MicroTime(k8s_openapi::jiff::Timestamp::UNIX_EPOCH);
        let now = Now { instant: self.cause.since + Duration::from_millis(9), time };
        self.recorder.changes(attempts, self.cause, Some(aftermath), now)
    }

    fn why(&mut self, attempt: Attempt) -> Why {
        self.pass(vec![attempt], &[]).remove(0).why
    }
}

#[test]
fn each_cause_has_its_word() {
    let bridge = Op::CreateBridge { network: name("blue"), bridge: network("blue").bridge };
    let mut scene = Scene::new(&[]);
    assert_eq!(scene.why(done(&bridge)), Why::NewSpec);
    scene.cause.is_inherited = true;
    assert_eq!(scene.why(done(&bridge)), Why::AgentStarted, "the spec is the one that an earlier agent had");
    scene.cause.is_new_spec = false;
    assert_eq!(scene.why(done(&bridge)), Why::Drift);
    scene.cause.restarted = Some(3);
    assert_eq!(scene.why(done(&bridge)), Why::EngineRestarted { epoch: 3 });
    let gone = record("c1", &network("blue"));
    let owner = usnet_dataplane::port::PortOwner::new(&gone.network, &gone.id);
    let removal = Op::RemovePort { bridge: None, port: gone.port.name, owner, backend: None };
    assert_eq!(scene.why(done(&removal)), Why::PodEnded);
}

#[test]
fn what_failed_half_way_is_told_once_and_then_how_it_ended() {
    let record = record("c1", &network("blue"));
    let port = create(&record);
    let mut scene = Scene::new(&[record]);
    let first = scene.pass(vec![refused(&port)], std::slice::from_ref(&port));
    assert_eq!((first.len(), first[0].milliseconds), (1, 9));
    assert!(matches!(&first[0].outcome, Outcome::RolledBack { message } if message.contains("no")), "{first:?}");
    assert_eq!(scene.pass(vec![refused(&port)], std::slice::from_ref(&port)), [], "a storm of tries is one line");
    let last = scene.pass(vec![done(&port)], &[]);
    assert_eq!((last.len(), &last[0].why, &last[0].outcome), (1, &Why::Retry, &Outcome::CompletedLater));
    assert_eq!(scene.pass(vec![done(&port)], &[])[0].outcome, Outcome::Done, "that was another time");
}

#[test]
fn what_the_engine_kept_and_did_by_itself_later_was_completed() {
    let record = record("c1", &network("blue"));
    let port = create(&record);
    let mut scene = Scene::new(&[record]);
    scene.verdicts.insert(name("blue"), Verdict::failed("PortFailed", "no"));
    let first = scene.pass(vec![refused(&port)], &[]);
    assert!(matches!(first[0].outcome, Outcome::Failed { .. }), "nothing was taken back: {first:?}");
    assert_eq!(scene.pass(Vec::new(), &[]), []);
    scene.verdicts.insert(name("blue"), Verdict::PROGRAMMED);
    assert_eq!(scene.pass(Vec::new(), &[])[0].outcome, Outcome::CompletedLater);
    assert_eq!(scene.pass(Vec::new(), &[]), []);
}

#[test]
fn what_was_taken_back_and_is_not_asked_for_any_more_is_told_once() {
    let record = record("c1", &network("blue"));
    let port = create(&record);
    let mut scene = Scene::new(&[record]);
    scene.pass(vec![refused(&port)], std::slice::from_ref(&port));
    scene.desired = Desired::new(vec![network("blue")], &[]);
    assert_eq!(scene.pass(Vec::new(), &[]), []);
    assert!(scene.recorder.open.is_empty());
}

#[test]
fn what_was_half_made_and_is_not_asked_for_any_more_is_rolled_back_once_it_is_gone() {
    let record = record("c1", &network("blue"));
    let port = create(&record);
    let owner = usnet_dataplane::port::PortOwner::new(&record.network, &record.id);
    let removal = Op::RemovePort { bridge: None, port: record.port.name.clone(), owner, backend: None };
    let mut scene = Scene::new(&[record]);
    scene.verdicts.insert(name("blue"), Verdict::failed("PortFailed", "no"));
    scene.pass(vec![refused(&port)], &[]);
    scene.desired = Desired::new(vec![network("blue")], &[]);
    assert_eq!(scene.pass(Vec::new(), std::slice::from_ref(&removal)), [], "something is left");
    let told = scene.pass(vec![done(&removal)], &[]);
    assert_eq!((told.len(), &told[0].why, &told[0].outcome), (2, &Why::PodEnded, &Outcome::Done));
    assert!(matches!(&told[1].outcome, Outcome::RolledBack { message } if message.contains("no longer asked for")));
    assert_eq!((&told[1].operation, &told[1].why), (&port.to_string(), &Why::PodEnded));
}

#[test]
fn what_is_half_made_is_not_completed_before_the_rest_is_done() {
    let record = record("c1", &network("blue"));
    let port = create(&record);
    let owner = usnet_dataplane::port::PortOwner::new(&record.network, &record.id);
    let (name, settings) = (record.port.name.clone(), record.port.settings.clone());
    let rest = Op::UpdatePort { port: name, owner, settings };
    let mut scene = Scene::new(&[record]);
    let first = scene.pass(vec![refused(&port)], std::slice::from_ref(&rest));
    assert_eq!(first.len(), 1, "{first:?}");
    scene.cause.is_new_spec = false;
    let last = scene.pass(vec![done(&rest)], &[]);
    let told: Vec<_> = last.iter().map(|change| (&change.why, &change.outcome)).collect();
    assert_eq!(told, [(&Why::Retry, &Outcome::Done), (&Why::Retry, &Outcome::CompletedLater)]);
}

#[test]
fn a_setting_that_failed_and_was_taken_back_was_not_completed() {
    let record = record("c1", &network("blue"));
    let owner = usnet_dataplane::port::PortOwner::new(&record.network, &record.id);
    let mtu = usnet_crds::Mtu::try_from(9000).unwrap();
    let settings = usnet_dataplane::port::PortSettings { mtu, ..record.port.settings.clone() };
    let large = Op::UpdatePort { port: record.port.name.clone(), owner, settings };
    let mut scene = Scene::new(&[record]);
    scene.pass(vec![refused(&large)], std::slice::from_ref(&large));
    let told = scene.pass(Vec::new(), &[]);
    assert!(matches!(told[0].outcome, Outcome::RolledBack { .. }), "{told:?}");
    assert_eq!(told[0].why, Why::NewSpec);
}

#[test]
fn a_thousand_ports_are_one_line_and_a_failure_among_them_is_its_own() {
    let records: Vec<_> = (0..1000).map(|number| record(&format!("c{number}"), &network("blue"))).collect();
    let mut scene = Scene::new(&records);
    scene.cause.restarted = Some(2);
    let mut attempts: Vec<_> = records.iter().map(|record| done(&create(record))).collect();
    let failing = create(&records[500]);
    attempts[500] = refused(&failing);
    let told = scene.pass(attempts, std::slice::from_ref(&failing));
    let texts: Vec<_> = told.iter().map(|change| change.operation.as_str()).collect();
    assert_eq!(texts, ["create 999 ports", failing.to_string().as_str()]);
    assert_eq!((told[0].network.as_deref(), told[1].attachment.as_deref()), (Some("blue"), Some("c500.net1")));
}
