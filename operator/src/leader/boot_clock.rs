//! A clock that never stands still and never jumps: it counts since boot, also while the process is stopped or the machine sleeps. `Instant` does not
//! count sleep, and the time of day can be set.

use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Time since boot. A clock that cannot be read says that all time has passed, so that nothing is proved by it.
pub(super) fn now() -> Duration {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::MAX, Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_forward_only() {
        let (first, second) = (now(), now());
        assert!(first > Duration::ZERO && first <= second && second < Duration::MAX);
    }
}
