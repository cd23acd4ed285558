//! Decides when to ask the switch to write the state of its ports again. A restarted `ovs-vswitchd`
//! (3.1) was seen to leave rows as they were at its start (`mtu` 0, no link, or `status`
//! disconnected) while packets flowed, until the next change of its configuration. A port that gets
//! memory after it had none is one that was started. The switch retries a port that fails for
//! another reason only then, too. Pure; time is passed in.

use std::time::{Duration, Instant};
use usnet_common::backoff::Backoff;

/// First delay. In most cases the switch writes the state within a second of its start.
const FIRST: Duration = Duration::from_secs(1);
/// Longest delay, while a port fails: a switch with a thousand ports needs a noticeable time to
/// apply the same configuration again.
const LONGEST: Duration = Duration::from_secs(30);
/// How often the switch is asked after a start, whatever it reports: pods connect within seconds.
const AFTER_START: u32 = 2;

/// The schedule of requests.
#[derive(Debug)]
pub(super) struct StatusRefresh {
    due: Option<Instant>,
    backoff: Backoff,
    after_start: u32,
}

impl StatusRefresh {
    pub(super) fn new() -> Self {
        Self { due: None, backoff: Backoff::new(FIRST, LONGEST), after_start: 0 }
    }

    /// Called when the switch, or a port of it that had no memory, was started.
    pub(super) fn on_start(&mut self) {
        self.backoff.reset();
        (self.due, self.after_start) = (None, AFTER_START);
    }

    /// Whether to ask now. Called after each observation; `has_failed_port` says whether a port of
    /// usnet failed in it.
    pub(super) fn is_due(&mut self, has_failed_port: bool, now: Instant) -> bool {
        if !has_failed_port && self.after_start == 0 {
            self.backoff.reset();
            self.due = None;
            return false;
        }
        let due = *self.due.get_or_insert_with(|| now + self.backoff.wait());
        if due > now {
            return false;
        }
        self.after_start = self.after_start.saturating_sub(1);
        self.due = None;
        let is_wanted = has_failed_port || self.after_start > 0;
        if is_wanted {
            self.due = Some(now + self.backoff.wait());
        }
        true
    }

    /// When to observe the switch again.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restarted_switch_is_asked_twice_and_one_with_a_failing_port_again_and_again() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut refresh = StatusRefresh::new();
        assert!(!refresh.is_due(false, start));
        assert_eq!(refresh.next(), None);
        refresh.on_start();
        let asked = |refresh: &mut StatusRefresh, has_failed_port: bool, seconds: std::ops::Range<u64>| -> Vec<u64> {
            seconds.filter(|second| refresh.is_due(has_failed_port, at(*second))).collect()
        };
        assert_eq!(asked(&mut refresh, false, 0..60), [1, 3]);
        assert_eq!(asked(&mut refresh, true, 100..200), [101, 103, 107, 115, 131, 161, 191]);
        assert_eq!(asked(&mut refresh, false, 200..300), Vec::<u64>::new(), "it works");
    }
}
