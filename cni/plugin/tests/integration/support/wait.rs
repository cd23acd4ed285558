//! Waits for conditions.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// The pause between two checks, so short that no test waits noticeably longer than its condition
/// takes.
const POLL: Duration = Duration::from_millis(5);

/// Waits until a condition holds; fails the test when it does not within `limit`.
#[track_caller]
pub(crate) fn await_that(what: &str, limit: Duration, holds: impl FnMut() -> bool) {
    assert!(holds_within(limit, holds), "not within {} s: {what}", limit.as_secs());
}

/// Waits until a condition holds, and returns whether it did within `limit`.
pub(crate) fn holds_within(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while !holds() {
        if Instant::now() >= deadline {
            return false;
        }
        sleep(POLL);
    }
    true
}
