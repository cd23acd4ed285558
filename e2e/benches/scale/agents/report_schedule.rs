//! The times at which an agent reports, as in the real agent: soon after a single change, and less
//! often during a burst of changes. Pure.

use std::time::Duration;
use tokio::time::Instant;

/// The delays of a report.
struct Waits {
    /// The time without a change after which the report is written.
    quiet: Duration,
    /// The maximum delay.
    longest: Duration,
}

const SINGLE: Waits = Waits { quiet: Duration::from_millis(200), longest: Duration::from_secs(1) };
/// The delays soon after another report.
const BURST: Waits = Waits { quiet: Duration::from_secs(1), longest: Duration::from_secs(10) };
/// After this time without a change, the next one is a single change again.
const QUIET_PERIOD: Duration = Duration::from_secs(3);

/// The times of changes and reports of one agent.
#[derive(Debug, Default)]
pub(super) struct ReportSchedule {
    /// The times of the first and the last unreported change.
    changes: Option<(Instant, Instant)>,
    /// The time of the last change or report.
    last: Option<Instant>,
    /// Whether there was a report in this burst.
    is_burst: bool,
    /// The earliest time of the next report after a failure.
    not_before: Option<Instant>,
}

impl ReportSchedule {
    /// Records a change that should be reported.
    pub(super) fn changed(&mut self, now: Instant) {
        if self.last.is_none_or(|last| now.saturating_duration_since(last) >= QUIET_PERIOD) {
            self.is_burst = false;
        }
        self.last = Some(now);
        self.changes = Some((self.changes.map_or(now, |(first, _)| first), now));
    }

    /// Returns the time of the next report; `None` without changes.
    pub(super) fn due(&self) -> Option<Instant> {
        let (first, last) = self.changes?;
        let waits = if self.is_burst { BURST } else { SINGLE };
        Some((last + waits.quiet).min(first + waits.longest)).max(self.not_before)
    }

    /// Discards the changes, which need no report.
    pub(super) fn skip(&mut self) {
        self.changes = None;
    }

    /// Records that a report is being written.
    pub(super) fn reported(&mut self, now: Instant) {
        (self.changes, self.not_before) = (None, None);
        self.last = Some(now);
        self.is_burst = true;
    }

    /// Records a failure, after which the report is repeated after `wait`.
    pub(super) fn failed(&mut self, now: Instant, wait: Duration) {
        self.changes = Some((now, now));
        self.not_before = Some(now + wait);
    }
}
