//! Keeps garbage for some time after it was first seen. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The known garbage, and since when each item is known.
#[derive(Debug)]
pub(super) struct Grace<T> {
    period: Duration,
    since: BTreeMap<T, Instant>,
}

impl<T: Ord + Clone> Grace<T> {
    pub(super) fn new(period: Duration) -> Self {
        Self { period, since: BTreeMap::new() }
    }

    /// Returns the items that have been garbage for the whole period. The period begins again for
    /// an item that is no garbage in between.
    pub(super) fn due(&mut self, garbage: &BTreeSet<T>, now: Instant) -> Vec<T> {
        self.since.retain(|known, _| garbage.contains(known));
        for found in garbage {
            self.since.entry(found.clone()).or_insert(now);
        }
        let is_due = |since: &Instant| now.saturating_duration_since(*since) >= self.period;
        self.since.iter().filter(|(_, since)| is_due(since)).map(|(found, _)| found.clone()).collect()
    }

    /// Starts another period for garbage that could not be removed.
    pub(super) fn restart(&mut self, garbage: &T, now: Instant) {
        if let Some(since) = self.since.get_mut(garbage) {
            *since = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_is_due_after_the_whole_period_and_after_another_one_if_it_stays() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut grace = Grace::new(60 * second);
        let both: BTreeSet<_> = ["a", "b"].into();
        assert_eq!(grace.due(&both, start), Vec::<&str>::new());
        assert_eq!(grace.due(&["a"].into(), start + 59 * second), Vec::<&str>::new());
        assert_eq!(grace.due(&both, start + 60 * second), ["a"], "b was none in between");
        grace.restart(&"a", start + 60 * second);
        assert_eq!(grace.due(&both, start + 119 * second), Vec::<&str>::new());
        assert_eq!(grace.due(&both, start + 120 * second), ["a", "b"]);
    }
}
