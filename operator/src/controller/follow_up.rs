//! What goes with the writes of a pass: statuses that must wait, events, metrics, the log of what went wrong.

use super::apply::{Error, Outcome};
use super::changes::Changes;
use super::diff::Write;
use super::events::Announcer;
use super::from_nad::Told;
use super::inputs::Inputs;
use super::ledger::Ledger;
use super::metrics::Metrics;
use super::news::News;
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

    /// Before it is known what to write: has statuses compared that had to wait, and tells what holds of definitions, as far as nobody was told yet.
    pub(super) fn begin(&mut self, inputs: &Inputs, changes: &Changes, ledger: &mut Ledger, now: Instant) {
        if changes.everything || changes.networks.keys().any(|network| !inputs.networks.contains_key(network)) {
            let exists = |network: &str| inputs.networks.contains_key(network);
            self.news.keep(exists);
            self.throttle.keep(exists);
        }
        for network in self.throttle.released(now) {
            ledger.compare_status(&network);
        }
        for notice in ledger.notices().into_iter().flat_map(|notices| self.told.news(notices)) {
            self.announcer.tell(notice);
        }
    }

    /// Before the writes: takes out statuses that come too soon. What comes back is when they are due.
    pub(super) fn before(
        &mut self,
        inputs: &Inputs,
        ledger: &mut Ledger,
        writes: &mut Vec<Write>,
        now: Instant,
    ) -> Option<Instant> {
        let due = self.throttle.hold_back(writes, now);
        ledger.put_off_statuses(|network| self.throttle.is_waiting(network));
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

    /// Logs what is new: a trouble when it begins, and not every time it is met again. That another may lead was told by the elector, and a node
    /// state that somebody else changed meanwhile is written whole by the next pass.
    fn replace_troubles<'a>(&mut self, errors: impl Iterator<Item = &'a Error> + Clone) -> bool {
        let told = errors.clone().filter(|error| !error.is_fenced() && !error.is_stale());
        let found: BTreeSet<String> = told.map(ToString::to_string).collect();
        for trouble in found.difference(&self.troubles) {
            tracing::warn!("{trouble}; trying again until it works");
        }
        self.troubles = found;
        errors.count() == 0
    }
}
