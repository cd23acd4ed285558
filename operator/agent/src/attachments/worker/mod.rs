//! The loop that attaches and detaches what is requested. In one pass:
//!
//! 1. [`inventory`] (IO) reads the records and sandboxes of the pods.
//! 2. [`step()`] decides for each attachment what is reported of it, and which call is due. No IO.
//! 3. [`calls`] (IO) begins those of the due calls for which there is a slot.
//!
//! Then the loop waits for a request, the end of a call, or the next time that something is due.

mod calls;
mod inventory;
mod step;
#[cfg(test)]
mod tests;

use super::attachment::{Attachment, CallKind};
use super::plugin::Plugin;
use super::report::{Failure, report};
use super::slots;
use super::wanted::Wanted;
use super::{Reported, Requested};
use calls::{Call, Calls, EndedCall};
use inventory::{Inventory, PodState, by_pod};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use step::{INTERVAL, Pass, Stepped, Waiting, step, unfinished};
use tokio::sync::watch::{Receiver, Sender};
use tokio::time::sleep;
use usnet_crds::conditions::reason;
use usnet_crds::{AttachmentReport, AttachmentState};
use usnet_dataplane::attachment::{PodUid, Progress, Record};
use usnet_dataplane::journal::Journal;
use usnet_dataplane::paths::NodePaths;

/// The generation that is reported while it is not known what is attached: with it, the controller
/// does not take an attachment that the report lacks for detached.
const UNKNOWN_GENERATION: i64 = 0;

/// The state of the loop.
pub(super) struct Worker<P> {
    inventory: Inventory,
    /// All attachments that are requested or attached, by the uid of their object.
    attachments: BTreeMap<String, Attachment>,
    calls: Calls<P>,
}

impl<P: Plugin> Worker<P> {
    pub(super) fn new(paths: &NodePaths, journal: Journal, plugin: P) -> Self {
        Self { inventory: Inventory::new(paths, journal), attachments: BTreeMap::new(), calls: Calls::new(plugin) }
    }

    /// Follows the requests until they end. Nothing is done before the first: it is not known what
    /// is requested, and everything would be detached.
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
                Some(ended) = self.calls.next() => self.end_call(ended, Instant::now()),
                () = sleep(wake) => {}
            }
        }
    }

    /// Makes one pass. Returns after which time the next one is due at the latest, and what is
    /// reported.
    fn pass(&mut self, requested: &Requested, now: Instant) -> (Duration, Reported) {
        let (wanted, mut reports) = parse(requested);
        let all = self.inventory.search_if_due(now);
        self.adopt(all.iter().flatten(), now);
        self.track(&wanted, now);
        let pods = self.read_pods(all, now);
        let pass = Pass { wanted, generation: requested.generation, pods, now };
        let mut wake = self.inventory.until_search(now);
        for (uid, Waiting { recheck, report }) in self.step_all(&pass) {
            wake = recheck.map_or(wake, |recheck| wake.min(recheck));
            reports.insert(uid, report);
        }
        let generation = if self.inventory.is_known() { requested.generation } else { UNKNOWN_GENERATION };
        (wake, Reported { generation, attachments: reports.into_values().collect() })
    }

    /// Adds attachments that the journal has and that are not known, as not requested. They are of
    /// an earlier run of the agent, or of an ADD that ended after its requester had given up.
    fn adopt<'r>(&mut self, records: impl Iterator<Item = &'r Record>, now: Instant) {
        for record in records.filter(|record| record.progress != Progress::Detached) {
            let Some(object) = record.object().filter(|object| !self.attachments.contains_key(*object)) else {
                continue;
            };
            let described = format!("{} of pod {}", record.id.interface, record.pod);
            let mut attachment = Attachment::new(&record.pod, described, now);
            attachment.unrequested = Some(now);
            self.attachments.insert(object.to_owned(), attachment);
        }
    }

    /// Adds what is wanted, and notes since when the others are not.
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

    /// Reads the state of each pod once, however many attachments it has. Pods that cannot be read
    /// are left out. `all` are the records of the node, if they were read just now.
    fn read_pods(&mut self, all: Option<Vec<Record>>, now: Instant) -> BTreeMap<PodUid, PodState> {
        let idle = self.attachments.values().filter(|attachment| attachment.in_flight.is_none());
        let pods: BTreeSet<PodUid> = idle.map(|attachment| attachment.pod.clone()).collect();
        let mut all = all.map(by_pod);
        let mut states = BTreeMap::new();
        for pod in pods {
            let Some(state) = self.inventory.read(&pod, all.as_mut()) else { continue };
            self.adopt(state.records.iter().map(|found| &found.record), now);
            states.insert(pod, state);
        }
        states
    }

    /// Advances each attachment, and begins calls that are due.
    fn step_all(&mut self, pass: &Pass) -> Vec<(String, Waiting)> {
        let (mut waiting, mut due) = (Vec::new(), Vec::new());
        for uid in self.by_due_time() {
            let Some(attachment) = self.attachments.get_mut(&uid) else { continue };
            match step(&uid, attachment, pass) {
                Stepped::Gone => drop(self.attachments.remove(&uid)),
                Stepped::Waiting(found) => waiting.push((uid, found)),
                Stepped::CallDue(call) => due.push((uid, call)),
            }
        }
        waiting.extend(self.begin_calls(due, pass));
        waiting
    }

    /// All attachments in the order in which they get free slots: the longest due one first.
    fn by_due_time(&self) -> Vec<String> {
        let mut all: Vec<_> = self.attachments.iter().map(|(uid, attachment)| (attachment.due(), uid)).collect();
        all.sort();
        all.into_iter().map(|(_, uid)| uid.clone()).collect()
    }

    /// Begins those of the calls for which there is a slot. The others wait until a call ends.
    fn begin_calls(&mut self, due: Vec<(String, Call)>, pass: &Pass) -> Vec<(String, Waiting)> {
        let kinds: Vec<_> = due.iter().map(|(uid, call)| (uid.as_str(), call.kind())).collect();
        let chosen = slots::choose(&self.attachments, &kinds);
        let mut waiting = Vec::new();
        for (uid, call) in due {
            let Some(attachment) = self.attachments.get_mut(&uid) else { continue };
            let report = unfinished(&uid, attachment, pass.wanted.contains_key(&uid));
            let recheck = if chosen.contains(&uid) {
                attachment.in_flight = Some(call.kind());
                self.calls.begin(uid.clone(), call);
                None
            } else {
                Some(INTERVAL)
            };
            waiting.push((uid, Waiting { recheck, report }));
        }
        waiting
    }

    fn end_call(&mut self, EndedCall { uid, kind, result }: EndedCall, now: Instant) {
        let Some(attachment) = self.attachments.get_mut(&uid) else { return };
        attachment.in_flight = None;
        match (kind, result) {
            (CallKind::Attach, Ok(())) => {
                tracing::info!(attachment = attachment.object, "attached an interface to a running pod");
                // Not reset: only the record, which the next pass reads, says that it is attached.
                // An ADD that succeeds without one is repeated with back-off.
                attachment.retry_at = Some(now + attachment.backoff.wait());
                attachment.failure = None;
            }
            (CallKind::Detach, Ok(())) => {
                tracing::info!(attachment = attachment.object, "detached an interface of a running pod");
                attachment.succeeded();
            }
            (CallKind::Attach, Err(error)) => attachment.failed(Failure::of_attaching(&error), now),
            (CallKind::Detach, Err(error)) => attachment.failed(Failure::of_detaching(&error), now),
        }
    }
}

/// The requests that are valid, and the reports of those that are not.
fn parse(requested: &Requested) -> (BTreeMap<String, Wanted>, BTreeMap<String, AttachmentReport>) {
    let (mut wanted, mut reports) = (BTreeMap::new(), BTreeMap::new());
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
    (wanted, reports)
}
