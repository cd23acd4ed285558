//! The state of the event loop while this replica is the leader.

use crate::evaluate::Evaluator;
use crate::events::ReportedConditions;
use crate::legacy;
use crate::watch::{Kind, WatchUpdate};
use crate::write::Target;
use crate::write::counts_rate::CountsBucket;
use crate::write::guards::Guards;
use crate::write::limiter::Limiter;
use crate::write::queue::Queue;
use crate::write::request::Outcome;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use std::collections::BTreeMap;
use tokio::time::Instant;

/// A response to a request.
pub(super) enum Response {
    Write(Outcome),
    /// The object, read after the outcome of a write was unknown; none when the read failed too.
    Read(Target, Option<Box<WatchUpdate>>),
}

/// State that is kept only while this replica is the leader.
#[derive(Default)]
pub(super) struct LeaderState {
    pub(super) evaluator: Evaluator,
    pub(super) queue: Queue,
    pub(super) guards: Guards,
    pub(super) limiter: Limiter,
    pub(super) counts_bucket: CountsBucket,
    pub(super) responses: FuturesUnordered<BoxFuture<'static, Response>>,
    /// Not counted by the limiter: each follows a failure, after a back-off.
    pub(super) reads: FuturesUnordered<BoxFuture<'static, Response>>,
    pub(super) reported_conditions: ReportedConditions,
    pub(super) event_deduplicator: legacy::EventDeduplicator,
    /// Failures that were logged, so that each is logged once.
    pub(super) failures: BTreeMap<Target, String>,
    pub(super) evaluate_at: Option<Instant>,
    pub(super) count_at: Option<Instant>,
    pub(super) legacy_at: Option<Instant>,
    pub(super) reservations_at: Option<Instant>,
    /// Whether the gauges of networks, uplinks and nodes count the present cache.
    pub(super) is_measured: bool,
    /// When they may be counted again.
    pub(super) measure_at: Option<Instant>,
    pub(super) lists: BTreeMap<Kind, Instant>,
}
