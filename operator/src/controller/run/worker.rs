//! The event loop of the controller (IO): handles watch updates, evaluates what changed and sends
//! what is due. It never blocks on any of them.

use super::metrics::Metrics;
use crate::api::error::{is_outcome_unknown, is_overload, retry_after};
use crate::controller::cache::dirty::Dirty;
use crate::controller::cache::nads::Availability;
use crate::controller::evaluate::{Evaluator, Now, Outbox};
use crate::controller::events::{EventRecorder, ReportedConditions};
use crate::controller::legacy;
use crate::controller::watch::{Kind, Observation, Observer, WatchUpdate, changes, read};
use crate::controller::write::guards::Guards;
use crate::controller::write::limiter::Limiter;
use crate::controller::write::queue::{Class, Queue};
use crate::controller::write::request::{Done, Error, Outcome, send};
use crate::controller::write::token_bucket::TokenBucket;
use crate::controller::write::{Target, Write};
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

/// The watches ended, which they never do by themselves.
#[derive(Debug, thiserror::Error)]
#[error("the watches of the API server ended: restart the controller")]
pub struct Ended;

/// Watch updates come in bursts: they are batched for this long before an evaluation.
const BATCH_DELAY: Duration = Duration::from_millis(30);
/// The pause after an evaluation, as a multiple of its duration: evaluations use at most a third of
/// a core, whatever the rate of changes, so that the loop keeps reading the watches.
const PAUSE_FACTOR: u32 = 2;
/// Counting NADs iterates over all namespaces of a network, and evaluating users' NADs over all
/// namespaces of the cluster: both are batched for longer, and use at most a tenth of a core.
const SLOW_BATCH_DELAY: Duration = Duration::from_millis(300);
const SLOW_PAUSE_FACTOR: u32 = 10;
/// The interval of metrics that require counting.
const METRICS_INTERVAL: Duration = Duration::from_secs(2);
/// Requests in flight that NADs leave to everything else, at the least.
const RESERVED_REQUESTS: usize = 4;

/// A response to a request.
enum Response {
    Write(Outcome),
    /// The object, read after the outcome of a write was unknown; none when the read failed too.
    Read(Target, Option<Box<WatchUpdate>>),
}

/// The state of the event loop.
pub(super) struct Worker {
    pub(super) watcher: Client,
    pub(super) writer: Client,
    pub(super) roles: Receiver<Role>,
    pub(super) legacy: legacy::Options,
    pub(super) metrics: Arc<Metrics>,
    pub(super) event_recorder: EventRecorder,
    pub(super) telemetry: Arc<telemetry::Telemetry>,
    pub(super) observer: Observer,
    pub(super) state: LeaderState,
    pub(super) is_leader: bool,
}

/// State that is kept only while this replica is the leader.
#[derive(Default)]
pub(super) struct LeaderState {
    evaluator: Evaluator,
    queue: Queue,
    guards: Guards,
    limiter: Limiter,
    counts_bucket: TokenBucket,
    responses: FuturesUnordered<BoxFuture<'static, Response>>,
    /// Not counted by the limiter: each follows a failure, after a back-off.
    reads: FuturesUnordered<BoxFuture<'static, Response>>,
    reported_conditions: ReportedConditions,
    event_deduplicator: legacy::EventDeduplicator,
    /// Failures that were logged, so that each is logged once.
    failures: BTreeMap<Target, String>,
    evaluate_at: Option<Instant>,
    count_at: Option<Instant>,
    legacy_at: Option<Instant>,
    metrics_at: Option<Instant>,
    lists: BTreeMap<Kind, Instant>,
}

impl Worker {
    /// Watches always, writes while this replica is the leader, and returns when its role is
    /// [`Role::Ended`].
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
                    self.set_role(role == Role::Leader);
                }
                Some(response) = self.state.responses.next() => self.handle_response(response),
                Some(response) = self.state.reads.next() => self.handle_response(response),
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
            }
            self.work();
        }
    }

    fn observe(&mut self, change: WatchUpdate) {
        let now = Instant::now();
        match self.observer.apply(change) {
            Observation::Updated(targets, version) => {
                for target in targets {
                    if self.state.guards.observed(&target, version) {
                        self.state.evaluator.mark_target(target);
                    }
                }
            }
            Observation::ListStarted(kind) => drop(self.state.lists.insert(kind, now)),
            Observation::ListCompleted(kind) => {
                let since = self.state.lists.remove(&kind).unwrap_or(now);
                for target in self.state.guards.list_completed(|target| kind_of(target) == kind, since) {
                    self.state.evaluator.mark_target(target);
                }
            }
            Observation::NoOp => {}
        }
        if self.observer.is_complete() {
            self.telemetry.set_ready();
        }
    }

    /// Another replica may have been the leader meanwhile, so the state of the last term is
    /// discarded.
    fn set_role(&mut self, is_leader: bool) {
        self.state = LeaderState::default();
        self.is_leader = is_leader;
        self.observer.take_dirty();
        if is_leader {
            self.metrics.leader.set(1);
            let everything = Dirty::everything(self.observer.cache());
            self.state.evaluator.mark(everything);
        } else {
            self.metrics.reset_to_standby();
        }
    }

    /// Evaluates and sends what is due, but only once all lists are complete: before that, a
    /// missing object may only not have been listed yet.
    fn work(&mut self) {
        let dirty = self.observer.take_dirty();
        if !self.is_leader || !self.observer.is_complete() {
            if self.is_leader && !dirty.is_empty() {
                self.state.evaluator.mark(Dirty { legacy: true, ..dirty });
            }
            return;
        }
        self.state.evaluator.mark(dirty);
        let now = Now { instant: Instant::now(), time: time() };
        for target in self.state.guards.expired(now.instant) {
            self.state.evaluator.mark_target(target);
        }
        self.evaluate(&now);
        self.count_nads(now.instant);
        self.evaluate_legacy(&now);
        self.dispatch(now.instant);
        self.measure(now.instant);
    }

    fn evaluate(&mut self, now: &Now) {
        let LeaderState { evaluator, queue, guards, evaluate_at, .. } = &mut self.state;
        if !is_due(evaluator.is_dirty(), evaluate_at, now.instant, BATCH_DELAY) {
            return;
        }
        evaluator.evaluate(self.observer.cache(), &mut Outbox { queue, guards, now });
        let took = now.instant.elapsed();
        self.metrics.evaluations.observe(took.as_secs_f64());
        *evaluate_at = evaluator.is_dirty().then(|| Instant::now() + BATCH_DELAY.max(took * PAUSE_FACTOR));
    }

    fn count_nads(&mut self, now: Instant) {
        let LeaderState { evaluator, count_at, .. } = &mut self.state;
        if !is_due(evaluator.has_uncounted(), count_at, now, BATCH_DELAY) {
            return;
        }
        let started = Instant::now();
        evaluator.count_nads(self.observer.cache());
        // Longer from the second time on: these follow the NADs that are being written.
        *count_at = Some(Instant::now() + SLOW_BATCH_DELAY.max(started.elapsed() * SLOW_PAUSE_FACTOR));
    }

    fn evaluate_legacy(&mut self, now: &Now) {
        let cache = self.observer.cache();
        let LeaderState { evaluator, queue, guards, legacy_at, event_deduplicator, .. } = &mut self.state;
        let is_known = cache.nads.availability == Availability::Known;
        if !is_due(evaluator.is_legacy_dirty() && is_known, legacy_at, now.instant, SLOW_BATCH_DELAY) {
            return;
        }
        let started = Instant::now();
        let records = evaluator.evaluate_legacy(cache, &self.legacy, &mut Outbox { queue, guards, now });
        for record in event_deduplicator.filter_new(records) {
            self.event_recorder.record(record);
        }
        *legacy_at = Some(Instant::now() + SLOW_BATCH_DELAY.max(started.elapsed() * SLOW_PAUSE_FACTOR));
    }

    /// Sends what is due, within the limit of requests in flight.
    fn dispatch(&mut self, now: Instant) {
        loop {
            let state = &mut self.state;
            let (limit, in_flight) = (state.limiter.limit(now), state.responses.len());
            if in_flight >= limit {
                break;
            }
            let nads = state.guards.in_flight(|target| matches!(target, Target::Nad(_)));
            let networks = state.guards.in_flight(|target| matches!(target, Target::NetworkFromNad(_)));
            let nad_limit = limit.saturating_sub(RESERVED_REQUESTS).max(1).min(limit.div_ceil(2));
            let is_counts_due = state.counts_bucket.has_token(now);
            let may_send = |class| match class {
                Class::Network | Class::Status => true,
                Class::LegacyNetwork => in_flight < limit.saturating_sub(RESERVED_REQUESTS).max(1),
                Class::Counts => is_counts_due,
                Class::NetworkFromNad => networks == 0,
            };
            let guards = &state.guards;
            let write = match state.queue.pop(now, may_send, |target| guards.is_blocked(target)) {
                Some((class, write)) => {
                    if class == Class::Counts {
                        state.counts_bucket.take_token();
                    }
                    Some(write)
                }
                None if nads < nad_limit => state.evaluator.next_nad_write(self.observer.cache(), &state.guards),
                None => None,
            };
            let Some(write) = write else { break };
            self.start(write, now);
        }
        self.metrics.queued.set(i64::try_from(self.state.queue.len()).unwrap_or(i64::MAX));
    }

    fn start(&mut self, write: Write, now: Instant) {
        if let Write::Status { network, .. } = &write
            && let Some(found) = self.observer.cache().networks.get(network)
        {
            self.state.reported_conditions.remember(network, found);
        }
        self.state.evaluator.record_status_write(&write, now);
        self.state.guards.send(write.target());
        self.state.responses.push(send(self.writer.clone(), write).map(Response::Write).boxed());
    }

    fn handle_response(&mut self, response: Response) {
        match response {
            Response::Write(outcome) => self.handle_outcome(outcome),
            Response::Read(target, None) => self.schedule_read(target, Instant::now()),
            Response::Read(target, Some(change)) => {
                self.observe(*change);
                self.state.guards.mark_read(&target);
                self.state.evaluator.mark_target(target);
            }
        }
    }

    fn handle_outcome(&mut self, Outcome { write, result }: Outcome) {
        let (now, target) = (Instant::now(), write.target());
        self.metrics.write(write.kind(), &result);
        match result {
            Ok(done) => {
                self.state.limiter.succeeded();
                self.state.failures.remove(&target);
                let is_seen = match done {
                    Done::Written(version) => self.state.guards.succeeded(&target, version, now),
                    Done::Deleted => self.state.guards.succeeded(&target, 0, now),
                    // The cache is behind the API server. The object is read, because the same
                    // write would otherwise be sent again until the watch has caught up.
                    Done::NoOp => {
                        self.schedule_read(target.clone(), now);
                        false
                    }
                };
                if is_seen {
                    self.state.evaluator.mark_target(target);
                }
                if let Write::Compiled { network, .. } = &write {
                    self.state.evaluator.record_compile_result(network, None);
                }
                for record in self.state.reported_conditions.transitions(&write) {
                    self.event_recorder.record(record);
                }
            }
            Err(error) => self.handle_failure(&write, target, &error, now),
        }
    }

    fn handle_failure(&mut self, write: &Write, target: Target, error: &Error, now: Instant) {
        if !error.is_fenced() && self.state.failures.get(&target) != Some(&error.to_string()) {
            tracing::warn!("{error}; retrying");
            self.state.failures.insert(target.clone(), error.to_string());
        }
        let cause = error.cause();
        if cause.is_none_or(is_overload) {
            self.state.limiter.overloaded(now, cause.and_then(retry_after));
        }
        if let (Write::Compiled { network, .. }, Some(message)) = (write, error.rejection()) {
            self.state.evaluator.record_compile_result(network, Some(message));
        }
        // The outcome is unknown, or the cached object is stale: it is read before anything is sent
        // again.
        let is_stale = matches!(cause, Some(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422));
        if cause.is_none_or(is_outcome_unknown) || is_stale {
            self.schedule_read(target, now);
        } else {
            self.state.guards.failed(&target, now);
        }
    }

    fn schedule_read(&mut self, target: Target, now: Instant) {
        let (client, at) = (self.writer.clone(), self.state.guards.mark_unknown(&target, now));
        let read = async move {
            sleep_until(at).await;
            let found = timeout(REQUEST_TIMEOUT, read(client, &target)).await;
            Response::Read(target, found.ok().and_then(Result::ok).map(Box::new))
        };
        self.state.reads.push(read.boxed());
    }

    fn measure(&mut self, now: Instant) {
        if self.state.metrics_at.is_none_or(|at| at <= now) {
            self.metrics.cluster(self.observer.cache());
            self.state.metrics_at = Some(now + METRICS_INTERVAL);
        }
    }

    /// The next deadline, if no event arrives before.
    fn next_wake(&self) -> Option<Instant> {
        if !self.is_leader || !self.observer.is_complete() {
            return None;
        }
        let (state, now) = (&self.state, Instant::now());
        let has_room = state.responses.len() < state.limiter.limit(now);
        let candidates = [
            state.evaluator.is_dirty().then(|| state.evaluate_at.unwrap_or(now + BATCH_DELAY)),
            state.evaluator.has_uncounted().then(|| state.count_at.unwrap_or(now + BATCH_DELAY)),
            state.evaluator.is_legacy_dirty().then(|| state.legacy_at.unwrap_or(now + SLOW_BATCH_DELAY)),
            state.guards.next_expiry(),
            state.limiter.paused_until().filter(|until| *until > now),
            state.queue.next_due(now).filter(|_| has_room),
            state.counts_bucket.next_token(now).filter(|_| has_room && !state.queue.is_empty()),
        ];
        candidates.into_iter().flatten().min()
    }
}

/// Whether a dirty batch is due; sets its deadline when it has none yet.
fn is_due(is_dirty: bool, at: &mut Option<Instant>, now: Instant, delay: Duration) -> bool {
    if !is_dirty {
        return false;
    }
    let due = *at.get_or_insert(now + delay);
    due <= now
}

fn kind_of(target: &Target) -> Kind {
    match target {
        Target::Finalizer(_) | Target::Status(_) | Target::NetworkFromNad(_) => Kind::Networks,
        Target::Compiled(_) => Kind::Compiled,
        Target::NodeState(_) => Kind::NodeStates,
        Target::Nad(_) => Kind::Nads,
    }
}

/// Kubernetes timestamps have whole seconds.
fn time() -> Time {
    let now = Timestamp::now();
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}
