//! The loop of the controller (IO): takes what watches see, evaluates what changed, sends what is due, and never waits for any of them.

use super::Ended;
use super::cache::definitions::Availability;
use super::dirty::Dirty;
use super::events::{Announcer, Reported};
use super::legacy;
use super::metrics::Metrics;
use super::plan::{Now, Outbox, Plan};
use super::watch::{Change, Kind, Observation, Observer, changes};
use super::write::guards::Guards;
use super::write::limiter::Limiter;
use super::write::pace::Pace;
use super::write::queue::{Class, Queue};
use super::write::request::{Done, Error, Outcome, read, send};
use super::write::{Target, Write};
use crate::api_error::{is_outcome_unknown, is_overload, retry_after};
use crate::leader::{REQUEST_TIMEOUT, Role};
use crate::telemetry;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{FuturesUnordered, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep_until, timeout};

/// Changes come in bursts; one evaluation deals with a whole burst.
const GATHER: Duration = Duration::from_millis(30);
/// Evaluations take at most a third of a core, however much changes: the loop has watches to read.
const REST: u32 = 2;
/// Counting definitions looks at every namespace of a network, and evaluating users' definitions at all of those: they are done this often at most, and
/// take at most a tenth of a core.
const SLOW_GATHER: Duration = Duration::from_millis(300);
const SLOW_REST: u32 = 10;
/// How often what is only counted for metrics is counted.
const METRICS: Duration = Duration::from_secs(2);
/// Requests that definitions leave free for everything else, at the least.
const RESERVED: usize = 4;

/// What comes back from a request.
enum Answer {
    Write(Outcome),
    /// What was read after the outcome of a write was unknown; none when that failed too.
    Read(Target, Option<Box<Change>>),
}

/// Everything that the loop needs.
pub(super) struct Worker {
    pub(super) watcher: Client,
    pub(super) writer: Client,
    pub(super) roles: Receiver<Role>,
    pub(super) legacy: legacy::Options,
    pub(super) metrics: Arc<Metrics>,
    pub(super) announcer: Announcer,
    pub(super) telemetry: Arc<telemetry::Telemetry>,
    pub(super) observer: Observer,
    pub(super) desk: Desk,
    pub(super) is_leader: bool,
}

/// What is remembered only while this controller leads.
#[derive(Default)]
pub(super) struct Desk {
    plan: Plan,
    queue: Queue,
    guards: Guards,
    limiter: Limiter,
    pace: Pace,
    answers: FuturesUnordered<BoxFuture<'static, Answer>>,
    /// Beside the limit: each comes after a failure, and waits first.
    reads: FuturesUnordered<BoxFuture<'static, Answer>>,
    reported: Reported,
    legacy_reported: legacy::Reported,
    /// Failures that were logged, so that each is logged when it begins.
    failures: BTreeMap<Target, String>,
    evaluate_at: Option<Instant>,
    count_at: Option<Instant>,
    legacy_at: Option<Instant>,
    metrics_at: Option<Instant>,
    lists: BTreeMap<Kind, Instant>,
}

impl Worker {
    /// Watches always, writes while this controller leads, and ends when its role does.
    ///
    /// # Errors
    /// When the watches end.
    pub(super) async fn run(mut self) -> Result<(), Ended> {
        let mut changes = changes(&self.watcher);
        loop {
            let wake = self.next_wake();
            tokio::select! {
                change = changes.next() => self.observe(change.ok_or(Ended)?),
                election = self.roles.changed() => {
                    let role = *self.roles.borrow_and_update();
                    if role == Role::Ended || election.is_err() {
                        return Ok(());
                    }
                    self.take_role(role == Role::Leader);
                }
                Some(answer) = self.desk.answers.next() => self.answer(answer),
                Some(answer) = self.desk.reads.next() => self.answer(answer),
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
            }
            self.work();
        }
    }

    fn observe(&mut self, change: Change) {
        let now = Instant::now();
        match self.observer.apply(change) {
            Observation::Seen(targets, version) => {
                for target in targets {
                    if self.desk.guards.seen(&target, version) {
                        self.desk.plan.mark_target(target);
                    }
                }
            }
            Observation::ListBegins(kind) => drop(self.desk.lists.insert(kind, now)),
            Observation::Listed(kind) => {
                let since = self.desk.lists.remove(&kind).unwrap_or(now);
                for target in self.desk.guards.listed(|target| kind_of(target) == kind, since) {
                    self.desk.plan.mark_target(target);
                }
            }
            Observation::Nothing => {}
        }
        if self.observer.is_complete() {
            self.telemetry.set_ready();
        }
    }

    /// What was remembered is of no use: another may have led meanwhile.
    fn take_role(&mut self, leads: bool) {
        self.desk = Desk::default();
        self.is_leader = leads;
        self.observer.take_dirty();
        if leads {
            self.metrics.leader.set(1);
            let everything = Dirty::everything(self.observer.cache());
            self.desk.plan.mark(everything);
        } else {
            self.metrics.stand_by();
        }
    }

    /// Evaluates and sends what is due. Only with a whole view of the cluster: what is missing may only not have been seen yet.
    fn work(&mut self) {
        let dirty = self.observer.take_dirty();
        if !self.is_leader || !self.observer.is_complete() {
            if self.is_leader && !dirty.is_empty() {
                self.desk.plan.mark(Dirty { legacy: true, ..dirty });
            }
            return;
        }
        self.desk.plan.mark(dirty);
        let now = Now { instant: Instant::now(), time: time() };
        for target in self.desk.guards.expired(now.instant) {
            self.desk.plan.mark_target(target);
        }
        self.evaluate(&now);
        self.count_definitions(now.instant);
        self.evaluate_legacy(&now);
        self.dispatch(now.instant);
        self.measure(now.instant);
    }

    fn evaluate(&mut self, now: &Now) {
        let Desk { plan, queue, guards, evaluate_at, .. } = &mut self.desk;
        if !is_due(plan.is_dirty(), evaluate_at, now.instant, GATHER) {
            return;
        }
        plan.evaluate(self.observer.cache(), &mut Outbox { queue, guards, now });
        let took = now.instant.elapsed();
        self.metrics.evaluations.observe(took.as_secs_f64());
        *evaluate_at = plan.is_dirty().then(|| Instant::now() + GATHER.max(took * REST));
    }

    fn count_definitions(&mut self, now: Instant) {
        let Desk { plan, count_at, .. } = &mut self.desk;
        if !is_due(plan.has_uncounted(), count_at, now, GATHER) {
            return;
        }
        let started = Instant::now();
        plan.count_definitions(self.observer.cache());
        // The next ones wait longer: they come while definitions are being written.
        *count_at = Some(Instant::now() + SLOW_GATHER.max(started.elapsed() * SLOW_REST));
    }

    fn evaluate_legacy(&mut self, now: &Now) {
        let cache = self.observer.cache();
        let Desk { plan, queue, guards, legacy_at, legacy_reported, .. } = &mut self.desk;
        let is_known = cache.definitions.availability == Availability::Known;
        if !is_due(plan.is_legacy_dirty() && is_known, legacy_at, now.instant, SLOW_GATHER) {
            return;
        }
        let started = Instant::now();
        let notices = plan.evaluate_legacy(cache, &self.legacy, &mut Outbox { queue, guards, now });
        for notice in legacy_reported.new_ones(notices) {
            self.announcer.announce(notice);
        }
        *legacy_at = Some(Instant::now() + SLOW_GATHER.max(started.elapsed() * SLOW_REST));
    }

    /// Sends what is due, as far as the API server can take it.
    fn dispatch(&mut self, now: Instant) {
        loop {
            let desk = &mut self.desk;
            let (limit, busy) = (desk.limiter.limit(now), desk.answers.len());
            if busy >= limit {
                break;
            }
            let definitions = desk.guards.in_flight(|target| matches!(target, Target::Definition(_)));
            let networks = desk.guards.in_flight(|target| matches!(target, Target::NetworkFromNad(_)));
            let room = limit.saturating_sub(RESERVED).max(1).min(limit.div_ceil(2));
            let is_counts_due = desk.pace.has_token(now);
            let may_send = |class| match class {
                Class::Network | Class::Status => true,
                Class::LegacyNetwork => busy < limit.saturating_sub(RESERVED).max(1),
                Class::Counts => is_counts_due,
                Class::NetworkFromNad => networks == 0,
            };
            let guards = &desk.guards;
            let write = match desk.queue.pop(now, may_send, |target| guards.is_blocked(target)) {
                Some((class, write)) => {
                    if class == Class::Counts {
                        desk.pace.take_token();
                    }
                    Some(write)
                }
                None if definitions < room => desk.plan.next_definition(self.observer.cache(), &desk.guards),
                None => None,
            };
            let Some(write) = write else { break };
            self.start(write, now);
        }
        self.metrics.queued.set(i64::try_from(self.desk.queue.len()).unwrap_or(i64::MAX));
    }

    fn start(&mut self, write: Write, now: Instant) {
        if let Write::Status { network, .. } = &write
            && let Some(found) = self.observer.cache().networks.get(network)
        {
            self.desk.reported.remember(network, found);
        }
        self.desk.plan.wrote_status(&write, now);
        self.desk.guards.send(write.target());
        self.desk.answers.push(send(self.writer.clone(), write).map(Answer::Write).boxed());
    }

    fn answer(&mut self, answer: Answer) {
        match answer {
            Answer::Write(outcome) => self.finish(outcome),
            Answer::Read(target, None) => self.read(target, Instant::now()),
            Answer::Read(target, Some(change)) => {
                self.observe(*change);
                self.desk.guards.was_read(&target);
                self.desk.plan.mark_target(target);
            }
        }
    }

    fn finish(&mut self, Outcome { write, result }: Outcome) {
        let (now, target) = (Instant::now(), write.target());
        self.metrics.write(write.kind(), &result);
        match result {
            Ok(done) => {
                self.desk.limiter.succeeded();
                self.desk.failures.remove(&target);
                let is_seen = match done {
                    Done::Written(version) => self.desk.guards.succeeded(&target, version, now),
                    Done::Deleted => self.desk.guards.succeeded(&target, 0, now),
                    // A watch is behind the API server. What is there is read, or the same would be sent again until the watch has caught up.
                    Done::Nothing => {
                        self.read(target.clone(), now);
                        false
                    }
                };
                if is_seen {
                    self.desk.plan.mark_target(target);
                }
                if let Write::Compiled { network, .. } = &write {
                    self.desk.plan.compiled_was(network, None);
                }
                for notice in self.desk.reported.transitions(&write) {
                    self.announcer.announce(notice);
                }
            }
            Err(error) => self.fail(&write, target, &error, now),
        }
    }

    fn fail(&mut self, write: &Write, target: Target, error: &Error, now: Instant) {
        if !error.is_fenced() && self.desk.failures.get(&target) != Some(&error.to_string()) {
            tracing::warn!("{error}; trying again until it works");
            self.desk.failures.insert(target.clone(), error.to_string());
        }
        let cause = error.cause();
        if cause.is_none_or(is_overload) {
            self.desk.limiter.overloaded(now, cause.and_then(retry_after));
        }
        if let (Write::Compiled { network, .. }, Some(message)) = (write, error.refusal()) {
            self.desk.plan.compiled_was(network, Some(message));
        }
        // What it did is not known, or the object is not as it was seen: it is read before anything is sent again.
        let is_stale = matches!(cause, Some(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422));
        if cause.is_none_or(is_outcome_unknown) || is_stale {
            self.read(target, now);
        } else {
            self.desk.guards.failed(&target, now);
        }
    }

    fn read(&mut self, target: Target, now: Instant) {
        let (client, at) = (self.writer.clone(), self.desk.guards.is_unknown(&target, now));
        let read = async move {
            sleep_until(at).await;
            let found = timeout(REQUEST_TIMEOUT, read(client, &target)).await;
            Answer::Read(target, found.ok().and_then(Result::ok).map(Box::new))
        };
        self.desk.reads.push(read.boxed());
    }

    fn measure(&mut self, now: Instant) {
        if self.desk.metrics_at.is_none_or(|at| at <= now) {
            self.metrics.cluster(self.observer.cache());
            self.desk.metrics_at = Some(now + METRICS);
        }
    }

    /// When something is due although nothing happens.
    fn next_wake(&self) -> Option<Instant> {
        if !self.is_leader || !self.observer.is_complete() {
            return None;
        }
        let (desk, now) = (&self.desk, Instant::now());
        let has_room = desk.answers.len() < desk.limiter.limit(now);
        let candidates = [
            desk.plan.is_dirty().then(|| desk.evaluate_at.unwrap_or(now + GATHER)),
            desk.plan.has_uncounted().then(|| desk.count_at.unwrap_or(now + GATHER)),
            desk.plan.is_legacy_dirty().then(|| desk.legacy_at.unwrap_or(now + SLOW_GATHER)),
            desk.guards.next_expiry(),
            desk.limiter.paused_until().filter(|until| *until > now),
            desk.queue.next_due(now).filter(|_| has_room),
            desk.pace.next_token(now).filter(|_| has_room && !desk.queue.is_empty()),
        ];
        candidates.into_iter().flatten().min()
    }
}

/// Whether it is time for what is dirty; otherwise it is set when it will be.
fn is_due(is_dirty: bool, at: &mut Option<Instant>, now: Instant, gather: Duration) -> bool {
    if !is_dirty {
        return false;
    }
    let due = *at.get_or_insert(now + gather);
    due <= now
}

fn kind_of(target: &Target) -> Kind {
    match target {
        Target::Finalizer(_) | Target::Status(_) | Target::NetworkFromNad(_) => Kind::Networks,
        Target::Compiled(_) => Kind::Compiled,
        Target::NodeState(_) => Kind::NodeStates,
        Target::Definition(_) => Kind::Definitions,
    }
}

/// Kubernetes keeps whole seconds.
fn time() -> Time {
    let now = Timestamp::now();
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}
