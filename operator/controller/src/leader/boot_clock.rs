//! A monotonic clock that counts since boot, including suspend and while the process is stopped.
//! `Instant` does not count suspend, and the wall clock can be set.

use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Time since boot. When the clock cannot be read, all leases count as expired.
pub(super) fn now() -> Duration {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::MAX, Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_monotonic() {
        let (first, second) = (now(), now());
        assert!(first > Duration::ZERO && first <= second && second < Duration::MAX);
    }
}
