//! When the evaluations run: changes come in bursts, which are batched.

use super::leader_state::LeaderState;
use super::metrics::Metrics;
use crate::cache::Cache;
use crate::cache::nads::Availability;
use crate::evaluate::{Now, Outbox};
use crate::events::EventRecord;
use crate::legacy;
use std::time::Duration;
use tokio::time::Instant;

/// Watch updates come in bursts, such as a list or `kubectl apply` of many objects: they are
/// batched for this long before an evaluation. Longer delays are visible to users, who wait for
/// each change; shorter ones evaluate the same networks repeatedly.
const BATCH_DELAY: Duration = Duration::from_millis(30);
/// The pause after an evaluation, as a multiple of its duration: evaluations use at most a third of
/// a core, whatever the rate of changes, so that the loop keeps reading the watches.
const PAUSE_FACTOR: u32 = 2;
/// Counting NADs iterates over all namespaces of a network, and evaluating users' NADs over all
/// namespaces of the cluster: both are batched for longer, and use at most a tenth of a core. This
/// delays counts and generated networks, for which fewer users wait.
const SLOW_BATCH_DELAY: Duration = Duration::from_millis(300);
/// As [`PAUSE_FACTOR`].
const SLOW_PAUSE_FACTOR: u32 = 10;
/// Between two decisions on reservations. Each may be a write that all nodes read, and tenants can
/// change reservations at any rate. The first after a pause waits only for its batch.
const RESERVATIONS_INTERVAL: Duration = Duration::from_secs(5);
/// The gauges follow the conditions within a second. Counting iterates over all networks and nodes.
const MEASURE_INTERVAL: Duration = Duration::from_millis(500);

impl LeaderState {
    /// Evaluates what is dirty, once its batch is due.
    pub(super) fn evaluate(&mut self, cache: &mut Cache, metrics: &Metrics, now: &Now) {
        let LeaderState { evaluator, queue, guards, evaluate_at, .. } = self;
        if !is_due(evaluator.is_dirty(), evaluate_at, now.instant, BATCH_DELAY) {
            return;
        }
        evaluator.evaluate(cache, &mut Outbox { queue, guards, now });
        let took = now.instant.elapsed();
        metrics.evaluated(took);
        *evaluate_at = evaluator.is_dirty().then(|| Instant::now() + BATCH_DELAY.max(took * PAUSE_FACTOR));
    }

    /// Counts the NADs of networks with changes, once their batch is due.
    pub(super) fn count_nads(&mut self, cache: &Cache, now: Instant) {
        let LeaderState { evaluator, count_at, .. } = self;
        if !is_due(evaluator.has_uncounted(), count_at, now, BATCH_DELAY) {
            return;
        }
        let started = Instant::now();
        evaluator.count_nads(cache);
        // Longer from the second time on: these follow the NADs that are being written.
        *count_at = Some(Instant::now() + SLOW_BATCH_DELAY.max(started.elapsed() * SLOW_PAUSE_FACTOR));
    }

    /// Decides on reservations that changed, once their batch is due.
    pub(super) fn decide_reservations(&mut self, cache: &mut Cache, now: Instant) {
        let LeaderState { evaluator, reservations_at, .. } = self;
        if !is_due(evaluator.has_undecided_reservations(), reservations_at, now, SLOW_BATCH_DELAY) {
            return;
        }
        let started = Instant::now();
        evaluator.decide_reservations(cache);
        *reservations_at = Some(Instant::now() + RESERVATIONS_INTERVAL.max(started.elapsed() * SLOW_PAUSE_FACTOR));
    }

    /// Evaluates NADs of users, once their batch is due; returns the events to report.
    pub(super) fn evaluate_legacy(&mut self, cache: &Cache, options: &legacy::Options, now: &Now) -> Vec<EventRecord> {
        let LeaderState { evaluator, queue, guards, legacy_at, event_deduplicator, .. } = self;
        let is_known = cache.nads.availability == Availability::Known;
        if !is_due(evaluator.is_legacy_dirty() && is_known, legacy_at, now.instant, SLOW_BATCH_DELAY) {
            return Vec::new();
        }
        let started = Instant::now();
        let records = evaluator.evaluate_legacy(cache, options, &mut Outbox { queue, guards, now });
        *legacy_at = Some(Instant::now() + SLOW_BATCH_DELAY.max(started.elapsed() * SLOW_PAUSE_FACTOR));
        event_deduplicator.filter_new(records)
    }

    /// Counts networks, uplinks and nodes, where something was observed since the last time: also
    /// the statuses that this controller has written, after which nothing else may change for long.
    pub(super) fn measure(&mut self, cache: &Cache, metrics: &Metrics, now: Instant) {
        if self.is_measured || self.measure_at.is_some_and(|at| at > now) {
            return;
        }
        metrics.cluster(cache);
        self.is_measured = true;
        self.measure_at = Some(now + MEASURE_INTERVAL.max(now.elapsed() * SLOW_PAUSE_FACTOR));
    }

    /// The next deadline, if no event arrives before.
    pub(super) fn next_wake(&self, now: Instant) -> Option<Instant> {
        let has_room = self.responses.len() < self.limiter.limit(now);
        let candidates = [
            self.evaluator.is_dirty().then(|| self.evaluate_at.unwrap_or(now + BATCH_DELAY)),
            self.evaluator.has_uncounted().then(|| self.count_at.unwrap_or(now + BATCH_DELAY)),
            self.evaluator.is_legacy_dirty().then(|| self.legacy_at.unwrap_or(now + SLOW_BATCH_DELAY)),
            self.evaluator.has_undecided_reservations().then(|| self.reservations_at.unwrap_or(now + SLOW_BATCH_DELAY)),
            (!self.is_measured).then(|| self.measure_at.unwrap_or(now)),
            self.guards.next_expiry(),
            self.limiter.paused_until().filter(|until| *until > now),
            self.queue.next_due(now).filter(|_| has_room),
            self.next_counts().filter(|next| *next > now && has_room && !self.queue.is_empty()),
        ];
        candidates.into_iter().flatten().min()
    }

    /// When counts may be written again.
    fn next_counts(&self) -> Option<Instant> {
        self.counts_bucket.0.next_token().map(Instant::from_std)
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
