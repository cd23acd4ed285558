//! Whether `ovs-vswitchd` acts on what the database holds. A database that answers says nothing about that: `next_cfg` is what somebody
//! asked for, `cur_cfg` what the switch has done. Pure: the clock is the caller's.

use std::time::{Duration, Instant};

/// How long the switch may take for one step. Taking away a thousand ports at once takes it 17 seconds, in which nobody can attach either.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The switch's progress as it was last seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Acting {
    current: i64,
    /// When it last moved, or had nothing to do.
    moved: Instant,
    behind: bool,
    stuck: bool,
}

impl Acting {
    /// Nothing is known yet.
    pub(super) fn new(now: Instant) -> Self {
        Self { current: i64::MIN, moved: now, behind: false, stuck: false }
    }

    /// Takes in what the database shows now, and says whether the switch acts.
    pub(super) fn sees(&mut self, next: i64, current: i64, now: Instant) -> bool {
        let (was_behind, is_behind) = (self.behind, current < next);
        if current != self.current || !was_behind || !is_behind {
            *self = Self { current, moved: now, behind: is_behind, stuck: false };
        }
        self.stuck |= now.duration_since(self.moved) >= PATIENCE;
        !self.stuck
    }

    /// Somebody waited for the switch in vain.
    pub(super) fn gave_up(&mut self) {
        self.stuck = self.behind || self.stuck;
    }

    /// When to look again although nothing changed; none while there is nothing to wait for.
    pub(super) fn look_again(&self) -> Option<Instant> {
        (self.behind && !self.stuck).then(|| self.moved + PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_that_does_not_move_for_too_long_is_not_acting_until_it_moves() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut acting = Acting::new(start);
        assert!(acting.sees(7, 7, at(0)));
        assert_eq!(acting.look_again(), None);
        assert!(acting.sees(8, 7, at(60)), "it was idle until now");
        assert_eq!(acting.look_again(), Some(at(60) + PATIENCE));
        assert!(!acting.sees(8, 7, at(70)));
        assert!(!acting.sees(9, 7, at(71)), "more requests do not help");
        assert!(acting.sees(9, 8, at(72)), "slow is not dead");
        assert!(acting.sees(9, 9, at(90)));
    }
}
