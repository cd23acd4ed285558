//! When an agent reports: soon after a single change, and less often while changes keep coming. As
//! in the real agent. Pure.

use std::time::Duration;
use tokio::time::Instant;

/// How long a report waits.
struct Waits {
    /// Until nothing has changed for so long.
    quiet: Duration,
    /// But not longer than this.
    longest: Duration,
}

const SINGLE: Waits = Waits { quiet: Duration::from_millis(200), longest: Duration::from_secs(1) };
/// Soon after another report.
const BURST: Waits = Waits { quiet: Duration::from_secs(1), longest: Duration::from_secs(10) };
/// After so long without a change the next is a single one again.
const CALM: Duration = Duration::from_secs(3);

/// The times of changes and reports of one agent.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// The first change that is not reported, and the last.
    changes: Option<(Instant, Instant)>,
    /// The last thing that happened.
    last: Option<Instant>,
    /// Something was reported in this burst.
    is_burst: bool,
    /// After a failure.
    not_before: Option<Instant>,
}

impl Pace {
    /// Something changed that should be reported.
    pub(super) fn changed(&mut self, now: Instant) {
        if self.last.is_none_or(|last| now.saturating_duration_since(last) >= CALM) {
            self.is_burst = false;
        }
        self.last = Some(now);
        self.changes = Some((self.changes.map_or(now, |(first, _)| first), now));
    }

    /// When to report; none while nothing changed.
    pub(super) fn due(&self) -> Option<Instant> {
        let (first, last) = self.changes?;
        let waits = if self.is_burst { BURST } else { SINGLE };
        Some((last + waits.quiet).min(first + waits.longest)).max(self.not_before)
    }

    /// There was nothing to report after all.
    pub(super) fn skip(&mut self) {
        self.changes = None;
    }

    /// It is reported now.
    pub(super) fn reported(&mut self, now: Instant) {
        (self.changes, self.not_before) = (None, None);
        self.last = Some(now);
        self.is_burst = true;
    }

    /// It did not work: once more after this wait.
    pub(super) fn failed(&mut self, now: Instant, wait: Duration) {
        self.changes = Some((now, now));
        self.not_before = Some(now + wait);
    }
}
