//! What goes with the writes of a pass: statuses that must wait, events, metrics, the log of what went wrong.

use super::apply::{Error, Outcome};
use super::diff::Write;
use super::events::Announcer;
use super::from_nad::Told;
use super::inputs::Inputs;
use super::metrics::Metrics;
use super::news::News;
use super::notice::Notice;
use super::throttle::Throttle;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::time::Instant;

/// What is remembered from one pass to the next.
#[derive(Debug)]
pub(super) struct FollowUp {
    metrics: Arc<Metrics>,
    announcer: Announcer,
    news: News,
    told: Told,
    throttle: Throttle,
    troubles: BTreeSet<String>,
}

impl FollowUp {
    pub(super) fn new(metrics: Arc<Metrics>, announcer: Announcer) -> Self {
        let (news, throttle) = (News::default(), Throttle::default());
        Self { metrics, announcer, news, told: Told::default(), throttle, troubles: BTreeSet::new() }
    }

    /// Another may have led meanwhile and told other things.
    pub(super) fn forget(&mut self) {
        self.news = News::default();
        self.told = Told::default();
    }

    /// Tells what holds of definitions, as far as nobody was told yet.
    pub(super) fn tell(&mut self, notices: Vec<Notice>) {
        for notice in self.told.news(notices) {
            self.announcer.tell(notice);
        }
    }

    /// Before the writes: takes out statuses that come too soon. What comes back is when they are due.
    pub(super) fn before(&mut self, inputs: &Inputs, writes: &mut Vec<Write>) -> Option<Instant> {
        let exists = |network: &str| inputs.networks.contains_key(network);
        self.news.keep(exists);
        self.throttle.keep(exists);
        let due = self.throttle.hold_back(writes, Instant::now());
        self.news.remember(inputs, writes);
        due
    }

    /// After the writes of a pass that began at `started`; true when all worked.
    pub(super) fn after(&mut self, inputs: &Inputs, outcomes: &[Outcome], started: Instant) -> bool {
        self.metrics.pass(started.elapsed(), outcomes);
        self.metrics.cluster(inputs);
        let done = outcomes.iter().filter(|outcome| outcome.result.is_ok());
        for notice in done.flat_map(|outcome| self.news.of(&outcome.write)) {
            self.announcer.tell(notice);
        }
        self.replace_troubles(outcomes.iter().filter_map(|outcome| outcome.result.as_ref().err()))
    }

    /// Logs what is new: a trouble when it begins, and not every time it is met again. That another may lead was told by the elector.
    fn replace_troubles<'a>(&mut self, errors: impl Iterator<Item = &'a Error> + Clone) -> bool {
        let told = errors.clone().filter(|error| !error.is_fenced());
        let found: BTreeSet<String> = told.map(ToString::to_string).collect();
        for trouble in found.difference(&self.troubles) {
            tracing::warn!("{trouble}; trying again until it works");
        }
        self.troubles = found;
        errors.count() == 0
    }
}
