//! Detects whether `ovs-vswitchd` applies what the database holds, which also answers without it:
//! `next_cfg` is the last requested configuration, `cur_cfg` the last one that the switch has
//! applied (ovs-vswitchd.conf.db(5), table Open_vSwitch). Pure; time is passed in.

use std::time::{Duration, Instant};

/// How long the switch may take for one step before it counts as stalled. A shorter time would
/// report a switch that is merely busy; a longer one would delay the report of a dead one.
/// Removing a thousand ports at once takes it 17 seconds, in which no pod can attach either.
pub(crate) const STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// The switch's progress as it was last observed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VswitchdLiveness {
    current: i64,
    /// When the switch last made progress, or had nothing to do.
    moved: Instant,
    behind: bool,
    stalled: bool,
}

impl VswitchdLiveness {
    pub(crate) fn new(now: Instant) -> Self {
        Self { current: i64::MIN, moved: now, behind: false, stalled: false }
    }

    /// Updates the progress from the database; returns whether the switch is alive.
    pub(crate) fn update(&mut self, next: i64, current: i64, now: Instant) -> bool {
        let (was_behind, is_behind) = (self.behind, current < next);
        if current != self.current || !was_behind || !is_behind {
            *self = Self { current, moved: now, behind: is_behind, stalled: false };
        }
        self.stalled |= now.duration_since(self.moved) >= STALL_TIMEOUT;
        !self.stalled
    }

    /// Called when an operation timed out waiting for the switch.
    pub(crate) fn on_timeout(&mut self) {
        self.stalled = self.behind || self.stalled;
    }

    /// When to check again although nothing changed; none while the switch has nothing to do.
    pub(crate) fn next_check(&self) -> Option<Instant> {
        (self.behind && !self.stalled).then(|| self.moved + STALL_TIMEOUT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_without_progress_for_too_long_is_stalled_until_it_progresses() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut liveness = VswitchdLiveness::new(start);
        assert!(liveness.update(7, 7, at(0)));
        assert_eq!(liveness.next_check(), None);
        assert!(liveness.update(8, 7, at(60)), "it was idle until now");
        assert_eq!(liveness.next_check(), Some(at(60) + STALL_TIMEOUT));
        assert!(!liveness.update(8, 7, at(70)));
        assert!(!liveness.update(9, 7, at(71)), "more requests do not help");
        assert!(liveness.update(9, 8, at(72)), "slow is not dead");
        assert!(liveness.update(9, 9, at(90)));
    }
}
