//! The loop: one pass over all attachments, then it waits for a request, the end of a call, or
//! time.

use super::attachment::Attachment;
use super::found::{Finder, Found};
use super::plan::{Step, step};
use super::plugin::Plugin;
use super::report::{Failure, attached, report};
use super::wanted::Wanted;
use super::{Reported, Requested};
use crate::attach;
use crate::display::ErrorChain;
use futures::future::LocalBoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use tokio::sync::watch::{Receiver, Sender};
use tokio::time::sleep;
use usnet_crds::conditions::message::attachment::{NO_SANDBOX, TWO_SANDBOXES};
use usnet_crds::conditions::reason;
use usnet_crds::{AttachmentReport, AttachmentState};
use usnet_dataplane::attachment::{PodUid, Progress, Record};
use usnet_dataplane::journal::{self, Journal};
use usnet_dataplane::network_namespace::{Presence, presence};
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::sandboxes::Sandbox;

/// How often a sandbox that is not known is looked for.
const WAITING_INTERVAL: Duration = Duration::from_secs(1);
/// How often it is checked whether the sandboxes of attached interfaces are there.
const INTERVAL: Duration = Duration::from_secs(5);
/// How often all records of the node are read, for interfaces that are not requested. There may be
/// ten thousand of other callers.
const SEARCH_INTERVAL: Duration = Duration::from_secs(30);
/// How long an interface is kept that a node state does not request which was just created, and
/// which the controller has not written requests to.
const GRACE: Duration = Duration::from_secs(15);
/// That of a node state that the controller has only created.
const FIRST_GENERATION: i64 = 1;
/// The generation that is reported while it is not known what is attached: with it, the controller
/// takes nothing that the report lacks for detached.
const UNKNOWN_GENERATION: i64 = 0;
/// How many ADDs are in flight: with as many calls as the service takes, there would be none left
/// for resource claims.
const ATTACHING_MAX: usize = 8;
/// How many DELs are in flight. They have slots of their own: an ADD that fails takes seconds, and
/// neither kind must keep the other waiting.
const DETACHING_MAX: usize = 4;

type Call = LocalBoxFuture<'static, (String, CallResult)>;

/// The end of a call.
enum CallResult {
    Attached(Result<(), attach::Error>),
    Detached(Result<(), attach::Error>),
}

/// What one pass goes by.
struct Pass {
    wanted: BTreeMap<String, Wanted>,
    /// That of the node state.
    generation: i64,
    /// What there is of each pod, but for those that could not be read.
    pods: BTreeMap<PodUid, Found>,
    now: Instant,
}

/// The state of the loop.
pub(super) struct Worker<P> {
    finder: Finder,
    plugin: P,
    attachments: BTreeMap<String, Attachment>,
    calls: FuturesUnordered<Call>,
    /// How many of the calls are ADDs.
    attaching: usize,
    /// How many are DELs.
    detaching: usize,
    /// When all records were read last.
    searched: Option<Instant>,
    /// Why the journal could not be read.
    problem: Option<String>,
}

impl<P: Plugin> Worker<P> {
    pub(super) fn new(paths: &NodePaths, journal: Journal, plugin: P) -> Self {
        Self {
            finder: Finder::new(paths, journal),
            plugin,
            attachments: BTreeMap::new(),
            calls: FuturesUnordered::new(),
            attaching: 0,
            detaching: 0,
            searched: None,
            problem: None,
        }
    }

    /// Follows the requests until they end. Before the first nothing is known, and nothing is
    /// done.
    pub(super) async fn run(mut self, mut requests: Receiver<Option<Requested>>, reported: Sender<Option<Reported>>) {
        if requests.wait_for(Option::is_some).await.is_err() {
            return;
        }
        loop {
            let requested = requests.borrow_and_update().clone();
            let Some(requested) = requested else { return };
            let (wake, now) = self.pass(&requested, Instant::now());
            let now = Some(now);
            reported.send_if_modified(|before| {
                let has_changed = *before != now;
                *before = now;
                has_changed
            });
            tokio::select! {
                changed = requests.changed() => if changed.is_err() {
                    return;
                },
                Some((uid, result)) = self.calls.next() => self.end_call(&uid, result, Instant::now()),
                () = sleep(wake) => {}
            }
        }
    }

    /// Looks for interfaces that are not requested: of an earlier run of the agent, and of ADDs
    /// that ended after their requester had given up. Returns all records by pod if it was time for
    /// that.
    fn search(&mut self, now: Instant) -> Option<BTreeMap<PodUid, Vec<Record>>> {
        if self.searched.is_some_and(|at| now.saturating_duration_since(at) < SEARCH_INTERVAL) {
            return None;
        }
        match self.finder.all() {
            Ok(all) => {
                (self.searched, self.problem) = (Some(now), None);
                self.adopt(&all, now);
                let mut by_pod: BTreeMap<_, Vec<_>> = BTreeMap::new();
                for record in all {
                    by_pod.entry(record.pod.uid.clone()).or_default().push(record);
                }
                Some(by_pod)
            }
            Err(error) => {
                self.tell_problem(&error);
                None
            }
        }
    }

    /// Takes over what was attached for objects that are not known.
    fn adopt(&mut self, records: &[Record], now: Instant) {
        for record in records.iter().filter(|record| record.progress != Progress::Detached) {
            let Some(object) = record.object().filter(|object| !self.attachments.contains_key(*object)) else {
                continue;
            };
            let described = format!("{} of pod {}", record.id.interface, record.pod);
            let mut attachment = Attachment::new(record.pod.uid.clone(), described, now);
            attachment.unrequested = Some(now);
            self.attachments.insert(object.to_owned(), attachment);
        }
    }

    /// After which time all records are read again.
    fn until_search(&self, now: Instant) -> Duration {
        let since = |at| now.saturating_duration_since(at);
        let left = self.searched.map(|at| SEARCH_INTERVAL.saturating_sub(since(at)));
        // Also if it was time now, and failed.
        left.filter(|left| !left.is_zero()).unwrap_or(WAITING_INTERVAL)
    }

    fn tell_problem(&mut self, error: &journal::Error) {
        let text = ErrorChain(error).to_string();
        if self.problem.as_ref() != Some(&text) {
            tracing::warn!(error = text, "cannot read the records of attached interfaces; retrying");
        }
        self.problem = Some(text);
    }

    /// One pass. Returns after which time the next one is due at the latest, and what is reported.
    fn pass(&mut self, requested: &Requested, now: Instant) -> (Duration, Reported) {
        let mut reports = BTreeMap::new();
        let mut wanted = BTreeMap::new();
        for request in &requested.attachments {
            match Wanted::parse(request) {
                Ok(parsed) => drop(wanted.insert(parsed.uid.clone(), parsed)),
                Err(error) => {
                    let failure = Failure::new(reason::INVALID, error.to_string());
                    let failed = report(&request.uid, AttachmentState::Failed, Some(&failure));
                    reports.insert(request.uid.clone(), failed);
                }
            }
        }
        let all = self.search(now);
        self.track(&wanted, now);
        let pass = Pass { wanted, generation: requested.generation, pods: self.read(all, now), now };
        let mut wake = self.until_search(now);
        for uid in self.in_turn() {
            let (next, reported) = self.visit(&uid, &pass);
            wake = next.map_or(wake, |next| wake.min(next));
            reports.extend(reported.map(|report| (uid, report)));
        }
        let generation = if self.searched.is_some() { requested.generation } else { UNKNOWN_GENERATION };
        (wake, Reported { generation, attachments: reports.into_values().collect() })
    }

    /// All attachments in the order in which they get free slots.
    fn in_turn(&self) -> Vec<String> {
        let mut turns: Vec<_> = self.attachments.iter().map(|(uid, attachment)| (attachment.due(), uid)).collect();
        turns.sort();
        turns.into_iter().map(|(_, uid)| uid.clone()).collect()
    }

    fn track(&mut self, wanted: &BTreeMap<String, Wanted>, now: Instant) {
        for (uid, wanted) in wanted {
            let new = || Attachment::new(wanted.pod.uid.clone(), wanted.object.clone(), now);
            let attachment = self.attachments.entry(uid.clone()).or_insert_with(new);
            attachment.object.clone_from(&wanted.object);
            attachment.unrequested = None;
        }
        for (_, attachment) in self.attachments.iter_mut().filter(|(uid, _)| !wanted.contains_key(*uid)) {
            attachment.unrequested.get_or_insert(now);
        }
    }

    /// What there is of the pods of all attachments, from all records if these were read just now.
    /// Each is read once, however many attachments it has.
    fn read(&mut self, mut all: Option<BTreeMap<PodUid, Vec<Record>>>, now: Instant) -> BTreeMap<PodUid, Found> {
        let awaited = self.attachments.values().filter(|attachment| !attachment.is_in_flight);
        let pods: BTreeSet<PodUid> = awaited.map(|attachment| attachment.pod.clone()).collect();
        let mut found = BTreeMap::new();
        for pod in pods {
            let records = match &mut all {
                Some(all) => Ok(all.remove(&pod).unwrap_or_default()),
                None => self.finder.of_pod(&pod),
            };
            match records {
                Ok(records) => {
                    self.adopt(&records, now);
                    let complete = self.finder.complete(&pod, records);
                    found.insert(pod, complete);
                }
                Err(error) => self.tell_problem(&error),
            }
        }
        found
    }

    /// Does what is next for one attachment.
    fn visit(&mut self, uid: &str, pass: &Pass) -> (Option<Duration>, Option<AttachmentReport>) {
        let Some(attachment) = self.attachments.get_mut(uid) else { return (None, None) };
        let wanted = pass.wanted.get(uid);
        let state = if wanted.is_some() { AttachmentState::Pending } else { AttachmentState::Detaching };
        if attachment.is_in_flight {
            let failure = attachment.failure.as_ref().filter(|_| wanted.is_none());
            return (None, Some(report(uid, state, failure)));
        }
        let Some(found) = pass.pods.get(&attachment.pod) else {
            return (Some(WAITING_INTERVAL), Some(report(uid, state, None)));
        };
        let next = step(uid, wanted.is_some(), &found.seen, found.sandbox.as_ref());
        match next {
            Step::Gone => {
                self.attachments.remove(uid);
                (None, None)
            }
            Step::Attached(record) => {
                attachment.succeeded();
                (Some(INTERVAL), Some(attached(uid, &record)))
            }
            Step::NoSandbox | Step::TwoSandboxes => {
                let text = if next == Step::NoSandbox { NO_SANDBOX } else { TWO_SANDBOXES };
                let failure = Failure::new(reason::NO_SANDBOX, text);
                (Some(WAITING_INTERVAL), Some(report(uid, AttachmentState::Failed, Some(&failure))))
            }
            Step::Attach(sandbox) => match wanted {
                Some(wanted) => self.attach(wanted, sandbox, pass.now),
                None => (None, None),
            },
            Step::Detach(id) => {
                let record = found.seen.iter().find(|seen| seen.record.id == id).map(|seen| seen.record.clone());
                self.detach(uid, record, pass)
            }
        }
    }

    fn attach(
        &mut self,
        wanted: &Wanted,
        sandbox: Sandbox,
        now: Instant,
    ) -> (Option<Duration>, Option<AttachmentReport>) {
        let uid = wanted.uid.as_str();
        let Some(attachment) = self.attachments.get_mut(uid) else { return (None, None) };
        let is_slot_free = self.attaching < ATTACHING_MAX;
        if !is_slot_free || !attachment.may_call(now) {
            return waiting(uid, attachment, AttachmentState::Failed, is_slot_free, now);
        }
        attachment.is_in_flight = true;
        self.attaching += 1;
        let (plugin, wanted) = (self.plugin.clone(), wanted.clone());
        self.calls.push(Box::pin(async move {
            let uid = wanted.uid.clone();
            (uid, CallResult::Attached(plugin.attach(wanted, sandbox).await))
        }));
        (None, Some(report(uid, AttachmentState::Pending, None)))
    }

    fn detach(
        &mut self,
        uid: &str,
        record: Option<Record>,
        pass: &Pass,
    ) -> (Option<Duration>, Option<AttachmentReport>) {
        let (Some(record), Some(attachment)) = (record, self.attachments.get_mut(uid)) else { return (None, None) };
        let (is_wanted, now) = (pass.wanted.contains_key(uid), pass.now);
        let state = if is_wanted { AttachmentState::Pending } else { AttachmentState::Detaching };
        let is_certain = pass.generation > FIRST_GENERATION || presence(&record) == Presence::Gone;
        let unrequested = attachment.unrequested.map_or(GRACE, |since| now.saturating_duration_since(since));
        if !is_certain && unrequested < GRACE {
            return (Some(GRACE - unrequested), Some(report(uid, state, None)));
        }
        let is_slot_free = self.detaching < DETACHING_MAX;
        if !is_slot_free || !attachment.may_call(now) {
            return waiting(uid, attachment, state, is_slot_free, now);
        }
        attachment.is_in_flight = true;
        self.detaching += 1;
        let reported = report(uid, state, attachment.failure.as_ref().filter(|_| !is_wanted));
        let (plugin, uid) = (self.plugin.clone(), uid.to_owned());
        self.calls.push(Box::pin(async move { (uid, CallResult::Detached(plugin.detach(record).await)) }));
        (None, Some(reported))
    }

    fn end_call(&mut self, uid: &str, result: CallResult, now: Instant) {
        let kind = match result {
            CallResult::Attached(_) => &mut self.attaching,
            CallResult::Detached(_) => &mut self.detaching,
        };
        *kind = kind.saturating_sub(1);
        let Some(attachment) = self.attachments.get_mut(uid) else { return };
        attachment.is_in_flight = false;
        match result {
            CallResult::Attached(Ok(())) => {
                tracing::info!(attachment = attachment.object, "attached an interface to a running pod");
                // That counts which the journal has.
                attachment.retry_at = Some(now + attachment.backoff.wait());
                attachment.failure = None;
            }
            CallResult::Detached(Ok(())) => {
                tracing::info!(attachment = attachment.object, "detached an interface of a running pod");
                attachment.succeeded();
            }
            CallResult::Attached(Err(error)) => attachment.failed(Failure::of_attaching(&error), now),
            CallResult::Detached(Err(error)) => attachment.failed(Failure::of_detaching(&error), now),
        }
    }
}

/// The report of what cannot be done now.
fn waiting(
    uid: &str,
    attachment: &Attachment,
    state: AttachmentState,
    is_slot_free: bool,
    now: Instant,
) -> (Option<Duration>, Option<AttachmentReport>) {
    let failure = attachment.failure.as_ref();
    // Without a failure it only waits for its turn.
    let state = if failure.is_none() && state == AttachmentState::Failed { AttachmentState::Pending } else { state };
    let wake = match attachment.retry_at {
        Some(at) if is_slot_free => at.saturating_duration_since(now),
        // The end of a call wakes the loop.
        _ => INTERVAL,
    };
    (Some(wake), Some(report(uid, state, failure)))
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;
