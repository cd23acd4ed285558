//! The loop: one pass over all attachments, then it waits for a request, the end of a call, or
//! time.

use super::attachment::{Attachment, Kind};
use super::found::{Finder, Found};
use super::plan::{Step, step};
use super::plugin::Plugin;
use super::report::{Failure, attached, report};
use super::slots;
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

type Running = LocalBoxFuture<'static, (String, CallResult)>;

/// The end of a call.
enum CallResult {
    Attached(Result<(), attach::Error>),
    Detached(Result<(), attach::Error>),
}

/// A call that is due.
enum Call {
    Attach(Box<Wanted>, Sandbox),
    Detach(Box<Record>),
}

/// After which time an attachment is looked at again, and what is reported of it.
type Visited = (Option<Duration>, Option<AttachmentReport>);

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
    calls: FuturesUnordered<Running>,
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
            let mut attachment = Attachment::new(&record.pod, described, now);
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
        let mut due = Vec::new();
        let mut visited: Vec<(String, Visited)> = Vec::new();
        for uid in self.in_turn() {
            match self.visit(&uid, &pass) {
                Ok(done) => visited.push((uid, done)),
                Err(call) => due.push((uid, call)),
            }
        }
        visited.extend(self.begin_calls(due, &pass));
        for (uid, (next, reported)) in visited {
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
            let new = || Attachment::new(&wanted.pod, wanted.object.clone(), now);
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
        let awaited = self.attachments.values().filter(|attachment| attachment.in_flight.is_none());
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

    /// Does what is next for one attachment, but for calls.
    fn visit(&mut self, uid: &str, pass: &Pass) -> Result<Visited, Call> {
        let Some(attachment) = self.attachments.get_mut(uid) else { return Ok((None, None)) };
        let wanted = pass.wanted.get(uid);
        if attachment.in_flight.is_some() {
            return Ok((None, Some(unfinished(uid, attachment, wanted.is_some()))));
        }
        let Some(found) = pass.pods.get(&attachment.pod) else {
            let state = if wanted.is_some() { AttachmentState::Pending } else { AttachmentState::Detaching };
            return Ok((Some(WAITING_INTERVAL), Some(report(uid, state, None))));
        };
        let next = step(uid, wanted.is_some(), &found.seen, found.sandbox.as_ref());
        let call = match (next, wanted) {
            (Step::Gone, _) => {
                self.attachments.remove(uid);
                return Ok((None, None));
            }
            (Step::Attached(record), _) => {
                attachment.succeeded();
                return Ok((Some(INTERVAL), Some(attached(uid, &record))));
            }
            (no_sandbox @ (Step::NoSandbox | Step::TwoSandboxes), _) => {
                let text = if no_sandbox == Step::NoSandbox { NO_SANDBOX } else { TWO_SANDBOXES };
                let failure = Failure::new(reason::NO_SANDBOX, text);
                return Ok((Some(WAITING_INTERVAL), Some(report(uid, AttachmentState::Failed, Some(&failure)))));
            }
            (Step::Attach(sandbox), Some(wanted)) => Call::Attach(Box::new(wanted.clone()), sandbox),
            (Step::Attach(_), None) => return Ok((None, None)),
            (Step::Detach(id), _) => {
                let record = found.seen.iter().find(|seen| seen.record.id == id).map(|seen| seen.record.clone());
                let Some(record) = record else { return Ok((None, None)) };
                if let Some(left) = grace(attachment, &record, pass) {
                    return Ok((Some(left), Some(unfinished(uid, attachment, wanted.is_some()))));
                }
                Call::Detach(Box::new(record))
            }
        };
        match attachment.retry_at.filter(|at| *at > pass.now) {
            Some(at) => Ok((Some(at - pass.now), Some(unfinished(uid, attachment, wanted.is_some())))),
            None => Err(call),
        }
    }

    /// Begins those of the calls for which there is a slot; the end of a call wakes the others.
    fn begin_calls(&mut self, due: Vec<(String, Call)>, pass: &Pass) -> Vec<(String, Visited)> {
        let kind = |call: &Call| if matches!(call, Call::Attach(..)) { Kind::Attach } else { Kind::Detach };
        let kinds: Vec<_> = due.iter().map(|(uid, call)| (uid.as_str(), kind(call))).collect();
        let chosen = slots::choose(&self.attachments, &kinds);
        let mut visited = Vec::new();
        for (uid, call) in due {
            let Some(attachment) = self.attachments.get_mut(&uid) else { continue };
            let reported = Some(unfinished(&uid, attachment, pass.wanted.contains_key(&uid)));
            let wake = if chosen.contains(&uid) {
                attachment.in_flight = Some(kind(&call));
                self.begin(uid.clone(), call);
                None
            } else {
                Some(INTERVAL)
            };
            visited.push((uid, (wake, reported)));
        }
        visited
    }

    fn begin(&self, uid: String, call: Call) {
        let plugin = self.plugin.clone();
        self.calls.push(match call {
            Call::Attach(wanted, sandbox) => {
                Box::pin(async move { (uid, CallResult::Attached(plugin.attach(*wanted, sandbox).await)) })
            }
            Call::Detach(record) => Box::pin(async move { (uid, CallResult::Detached(plugin.detach(*record).await)) }),
        });
    }

    fn end_call(&mut self, uid: &str, result: CallResult, now: Instant) {
        let Some(attachment) = self.attachments.get_mut(uid) else { return };
        attachment.in_flight = None;
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

/// How long it is still kept although nothing requests it.
fn grace(attachment: &Attachment, record: &Record, pass: &Pass) -> Option<Duration> {
    let is_certain = pass.generation > FIRST_GENERATION || presence(record) == Presence::Gone;
    let unrequested = attachment.unrequested.map_or(GRACE, |since| pass.now.saturating_duration_since(since));
    (!is_certain && unrequested < GRACE).then(|| GRACE - unrequested)
}

/// The report of what is not done yet. What has failed stays so while it is tried again: else each
/// try would be two changes, for the controller and for users.
fn unfinished(uid: &str, attachment: &Attachment, is_wanted: bool) -> AttachmentReport {
    let failure = attachment.failure.as_ref();
    let state = match (is_wanted, failure) {
        (false, _) => AttachmentState::Detaching,
        (true, Some(_)) => AttachmentState::Failed,
        (true, None) => AttachmentState::Pending,
    };
    report(uid, state, failure)
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;
