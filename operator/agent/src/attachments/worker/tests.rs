use super::super::attachment::{FIRST_RETRY, LONGEST_RETRY};
use super::super::slots::ATTACHING_MAX;
use super::super::wanted::tests::request;
use super::inventory::{SEARCH_INTERVAL, WAITING_INTERVAL};
use super::step::GRACE;
use super::*;
use inotify::{Inotify, WatchMask};
use std::cell::RefCell;
use std::rc::Rc;
use usnet_crds::RequestedAttachment;
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::sandboxes::Sandbox;
use usnet_dataplane::testing::{network, record};
use usnet_node::attach;

/// A plugin that writes records into the journal, and remembers its calls.
#[derive(Clone)]
struct Fake {
    journal: Journal,
    calls: Rc<RefCell<Vec<String>>>,
    is_failing: Rc<RefCell<bool>>,
}

impl Plugin for Fake {
    fn attach(&self, wanted: Wanted, sandbox: Sandbox) -> impl Future<Output = Result<(), attach::Error>> + 'static {
        let fake = self.clone();
        async move {
            fake.calls.borrow_mut().push(format!("ADD {} {}", sandbox.container, wanted.interface));
            if *fake.is_failing.borrow() {
                let error = attach::CniError { code: 103, msg: "attached already".into(), details: String::new() };
                return Err(error.into());
            }
            let id = AttachmentId { container: sandbox.container, interface: wanted.interface };
            let configuration_name = Some(Record::configuration_of_object(&wanted.uid));
            put(&fake.journal, &Record { configuration_name, ..of_pod(id, wanted.pod.uid.as_str()) });
            Ok(())
        }
    }

    fn detach(&self, record: Record) -> impl Future<Output = Result<(), attach::Error>> + 'static {
        let fake = self.clone();
        async move {
            fake.calls.borrow_mut().push(format!("DEL {} {}", record.id.container, record.id.interface));
            fake.journal.lock(&record.id).unwrap().remove().unwrap();
            Ok(())
        }
    }
}

fn put(journal: &Journal, record: &Record) {
    journal.lock(&record.id).unwrap().write(record).unwrap();
}

fn of_pod(id: AttachmentId, pod: &str) -> Record {
    let mut record = record(id.container.as_str(), &network("blue"));
    record.progress = Progress::Attached;
    record.pod.uid = pod.parse().unwrap();
    (record.network_namespace, record.network_namespace_inode) = ("/nowhere/netns/pod".into(), Some(1));
    Record { id, ..record }
}

struct Node {
    paths: NodePaths,
    fake: Fake,
    _folder: tempfile::TempDir,
}

impl Node {
    /// A node with the pod `web`, whose `net1` another caller has attached.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let paths = NodePaths::below(folder.path());
        let journal = Journal::open(&paths).unwrap();
        put(&journal, &of_pod("c1.net1".parse().unwrap(), "web-uid"));
        let fake = Fake { journal, calls: Rc::default(), is_failing: Rc::default() };
        Self { paths, fake, _folder: folder }
    }

    fn calls(&self) -> Vec<String> {
        self.fake.calls.borrow().clone()
    }

    /// Adds a record of an attachment that an earlier agent made.
    fn attached(&self, object: &str, id: &str, pod: &str) {
        let mut record = of_pod(id.parse().unwrap(), pod);
        record.configuration_name = Some(Record::configuration_of_object(object));
        put(&self.fake.journal, &record);
    }

    fn worker(&self) -> Worker<Fake> {
        Worker::new(&self.paths, self.fake.journal.clone(), self.fake.clone())
    }
}

fn requested(generation: i64, attachments: &[RequestedAttachment]) -> Requested {
    Requested { generation, attachments: attachments.to_vec() }
}

/// Makes a pass at this time and waits for the calls that it began. Returns what it reported, by
/// uid.
async fn pass(
    worker: &mut Worker<Fake>,
    requested: &Requested,
    now: Instant,
) -> Vec<(String, AttachmentState, String)> {
    let (_, reported) = worker.pass(requested, now);
    while let Some(ended) = worker.calls.next().await {
        worker.end_call(ended, now);
    }
    reported.attachments.into_iter().map(|report| (report.uid, report.state, report.reason)).collect()
}

fn is(uid: &str, state: AttachmentState, reason: &str) -> (String, AttachmentState, String) {
    (uid.to_owned(), state, reason.to_owned())
}

use AttachmentState::{Attached, Detaching, Failed, Pending};

#[tokio::test]
async fn what_is_requested_is_attached_and_what_is_not_any_more_is_detached() {
    let (node, now) = (Node::new(), Instant::now());
    let mut worker = node.worker();
    let wanted = requested(2, &[request("o1", "web", "net7")]);
    assert_eq!(pass(&mut worker, &wanted, now).await, [is("o1", Pending, "")]);
    assert_eq!(pass(&mut worker, &wanted, now).await, [is("o1", Attached, "")]);
    let (_, reported) = worker.pass(&wanted, now);
    let report = &reported.attachments[0];
    assert_eq!((report.mtu, report.mac.is_some()), (Some(1500), true));
    assert_eq!(pass(&mut worker, &requested(3, &[]), now).await, [is("o1", Detaching, "")]);
    assert_eq!(pass(&mut worker, &requested(3, &[]), now).await, []);
    assert_eq!(node.calls(), ["ADD c1 net7", "DEL c1 net7"]);
}

#[tokio::test]
async fn failures_are_reported_and_repeated_with_back_off() {
    let (node, start) = (Node::new(), Instant::now());
    let mut worker = node.worker();
    *node.fake.is_failing.borrow_mut() = true;
    let wanted = requested(2, &[request("o1", "web", "net7"), request("o2", "gone", "net7")]);
    let failed = [is("o1", Failed, "InterfaceTaken"), is("o2", Failed, "NoSandbox")];
    pass(&mut worker, &wanted, start).await;
    for (second, calls) in [(0, 1), (1, 2), (2, 2), (3, 3), (6, 3), (7, 4)] {
        pass(&mut worker, &wanted, start + Duration::from_secs(second)).await;
        assert_eq!(node.calls().len(), calls, "after {second} s");
    }
    assert_eq!(pass(&mut worker, &wanted, start + Duration::from_secs(8)).await, failed);
    *node.fake.is_failing.borrow_mut() = false;
    let later = start + LONGEST_RETRY;
    pass(&mut worker, &wanted, later).await;
    assert_eq!(pass(&mut worker, &wanted, later).await, [is("o1", Attached, ""), failed[1].clone()]);
}

/// A node state that was deleted and created again has no requests for a moment.
#[tokio::test]
async fn what_a_new_node_state_does_not_request_is_kept_for_a_while() {
    let (node, start) = (Node::new(), Instant::now());
    node.attached("o1", "c1.net7", "web-uid");
    let mut worker = node.worker();
    let nothing = requested(1, &[]);
    assert_eq!(pass(&mut worker, &nothing, start).await, [is("o1", Detaching, "")]);
    pass(&mut worker, &nothing, start + GRACE / 2).await;
    let wanted = requested(2, &[request("o1", "web", "net7")]);
    assert_eq!(pass(&mut worker, &wanted, start + GRACE).await, [is("o1", Attached, "")]);
    pass(&mut worker, &nothing, start + GRACE).await;
    assert_eq!(node.calls(), [""; 0]);
    pass(&mut worker, &nothing, start + GRACE * 2).await;
    assert_eq!(node.calls(), ["DEL c1 net7"]);
}

/// The object was deleted while no agent ran.
#[tokio::test]
async fn what_an_earlier_agent_attached_is_detached_if_it_is_not_requested() {
    let node = Node::new();
    node.attached("o1", "c1.net7", "web-uid");
    let mut worker = node.worker();
    pass(&mut worker, &requested(3, &[]), Instant::now()).await;
    assert_eq!(node.calls(), ["DEL c1 net7"]);
}

fn many(count: usize) -> Requested {
    let requests: Vec<_> = (0..count).map(|n| request(&format!("o{n:02}"), "web", &format!("eth{n}"))).collect();
    requested(2, &requests)
}

/// The share of one namespace.
const SHARE: usize = ATTACHING_MAX / 2;

fn in_flight(worker: &Worker<Fake>, kind: CallKind) -> usize {
    worker.attachments.values().filter(|attachment| attachment.in_flight == Some(kind)).count()
}

#[tokio::test]
async fn whoever_has_waited_longest_gets_the_next_slot() {
    let (node, start) = (Node::new(), Instant::now());
    let mut worker = node.worker();
    *node.fake.is_failing.borrow_mut() = true;
    let wanted = many(SHARE * 2 + 1);
    for round in 0..3 {
        // Those that failed are due again each time.
        pass(&mut worker, &wanted, start + LONGEST_RETRY * round).await;
    }
    let called: BTreeSet<_> = node.calls().into_iter().collect();
    assert_eq!(called.len(), wanted.attachments.len(), "{called:?}");
}

#[tokio::test]
async fn detachments_do_not_wait_for_attachments() {
    let (node, now) = (Node::new(), Instant::now());
    let mut worker = node.worker();
    let before = requested(2, &[request("o99", "web", "net7")]);
    pass(&mut worker, &before, now).await;
    assert_eq!(pass(&mut worker, &before, now).await, [is("o99", Attached, "")]);
    let wanted = many(SHARE + 1);
    worker.pass(&wanted, now);
    assert_eq!((in_flight(&worker, CallKind::Attach), in_flight(&worker, CallKind::Detach)), (SHARE, 1));
    pass(&mut worker, &wanted, now).await;
    assert!(node.calls().contains(&"DEL c1 net7".to_owned()), "{:?}", node.calls());
    assert_eq!((in_flight(&worker, CallKind::Attach), in_flight(&worker, CallKind::Detach)), (0, 0));
}

#[tokio::test]
async fn without_a_free_slot_the_loop_sleeps_until_a_call_ends() {
    let (node, start) = (Node::new(), Instant::now());
    let mut worker = node.worker();
    *node.fake.is_failing.borrow_mut() = true;
    let wanted = many(SHARE + 1);
    let (wake, _) = worker.pass(&wanted, start);
    assert_eq!((in_flight(&worker, CallKind::Attach), wake), (SHARE, INTERVAL));
    while let Some(ended) = worker.calls.next().await {
        worker.end_call(ended, start);
    }
    let (wake, _) = worker.pass(&wanted, start);
    assert_eq!(
        (in_flight(&worker, CallKind::Attach), wake),
        (1, FIRST_RETRY),
        "a free slot waits for the next that is due"
    );
}

/// Otherwise each try would be two changes of a status.
#[tokio::test]
async fn what_has_failed_stays_so_while_it_is_tried_again() {
    let (node, start) = (Node::new(), Instant::now());
    let mut worker = node.worker();
    *node.fake.is_failing.borrow_mut() = true;
    let wanted = requested(2, &[request("o1", "web", "net7")]);
    pass(&mut worker, &wanted, start).await;
    let (_, reported) = worker.pass(&wanted, start + FIRST_RETRY);
    assert_eq!(in_flight(&worker, CallKind::Attach), 1);
    assert_eq!(reported.attachments[0].state, Failed);
    assert_eq!(worker.pass(&wanted, start + FIRST_RETRY).1, reported);
}

#[tokio::test]
async fn a_pod_of_another_namespace_does_not_wait_for_hundreds_that_fail() {
    let (node, start) = (Node::new(), Instant::now());
    let mut worker = node.worker();
    put(&node.fake.journal, &of_pod("c2.net1".parse().unwrap(), "shop-uid"));
    let mut wanted = many(300);
    worker.pass(&wanted, start);
    let other = RequestedAttachment { namespace: "shop".parse().unwrap(), ..request("other", "shop", "net7") };
    wanted.attachments.push(other);
    worker.pass(&wanted, start);
    let begun = |uid: &str| worker.attachments[uid].in_flight.is_some();
    assert!(begun("other"), "hundreds are due longer than it");
    assert_eq!(in_flight(&worker, CallKind::Attach), SHARE + 1);
}

#[tokio::test]
async fn a_pass_reads_each_record_once() {
    let (node, now) = (Node::new(), Instant::now());
    let mut worker = node.worker();
    let wanted = many(3);
    pass(&mut worker, &wanted, now).await;
    pass(&mut worker, &wanted, now).await;
    let mut inotify = Inotify::init().unwrap();
    inotify.watches().add(node.paths.attachments(), WatchMask::OPEN).unwrap();
    pass(&mut worker, &wanted, now).await;
    let mut buffer = [0; 4096];
    let events = inotify.read_events(&mut buffer).unwrap().filter_map(|event| event.name.map(ToOwned::to_owned));
    let mut opened: Vec<_> = events.filter(|name| name.to_string_lossy().contains("eth")).collect();
    opened.sort();
    let once = opened.iter().collect::<BTreeSet<_>>().len();
    assert_eq!((opened.len(), once), (3, 3), "{opened:?}");
}

#[tokio::test]
async fn nothing_is_reported_as_gone_before_the_records_could_be_read() {
    let (node, now) = (Node::new(), Instant::now());
    node.attached("o1", "c1.net7", "web-uid");
    let (folder, away) = (node.paths.attachments(), node.paths.attachments().with_extension("away"));
    std::fs::rename(&folder, &away).unwrap();
    std::fs::write(&folder, "").unwrap();
    let mut worker = node.worker();
    let (wake, reported) = worker.pass(&requested(3, &[]), now);
    assert_eq!((wake, reported.generation), (WAITING_INTERVAL, UNKNOWN_GENERATION));
    std::fs::remove_file(&folder).unwrap();
    std::fs::rename(&away, &folder).unwrap();
    let (_, reported) = worker.pass(&requested(3, &[]), now + wake);
    assert_eq!((reported.generation, reported.attachments[0].state), (3, Detaching));
    pass(&mut worker, &requested(3, &[]), now + wake).await;
    assert_eq!(node.calls(), ["DEL c1 net7"]);
}

/// The ADD ended after the agent had given up.
#[tokio::test]
async fn what_appears_later_is_detached_as_well() {
    let (node, start) = (Node::new(), Instant::now());
    let mut worker = node.worker();
    let nothing = requested(3, &[]);
    let (wake, _) = worker.pass(&nothing, start);
    assert_eq!(wake, SEARCH_INTERVAL);
    node.attached("o1", "c2.net7", "db-uid");
    assert_eq!(pass(&mut worker, &nothing, start + SEARCH_INTERVAL).await, [is("o1", Detaching, "")]);
    assert_eq!(pass(&mut worker, &nothing, start + SEARCH_INTERVAL).await, []);
    assert_eq!(node.calls(), ["DEL c2 net7"]);
}

#[tokio::test]
async fn what_appears_in_a_pod_with_attachments_is_found_when_that_is_read() {
    let (node, start) = (Node::new(), Instant::now());
    let mut worker = node.worker();
    let wanted = requested(3, &[request("o1", "web", "net7")]);
    pass(&mut worker, &wanted, start).await;
    node.attached("o2", "c1.net8", "web-uid");
    assert_eq!(pass(&mut worker, &wanted, start).await, [is("o1", Attached, ""), is("o2", Detaching, "")]);
    assert_eq!(node.calls(), ["ADD c1 net7", "DEL c1 net8"]);
}
