//! Waits for conditions, instead of fixed times.

use std::thread;
use std::time::{Duration, Instant};

/// The pause between two checks, which is short because the start of a test bed is a chain of
/// waits.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The environment variable that multiplies all time limits of test beds and cluster tests, for
/// slow machines.
pub const FACTOR_VARIABLE: &str = "USNET_WORLD_TIMEOUT";

/// The time limit of a step without progress, which is generous because many programs start at once
/// on few cores.
const STALL_LIMIT: Duration = Duration::from_secs(60);

/// A wait ends after this many times [`STALL_LIMIT`] even with progress, which a program that
/// restarts in a loop makes as well.
const STALLS_MAX: u32 = 5;

/// Returns a time limit, multiplied by the factor in `USNET_WORLD_TIMEOUT`.
#[must_use]
pub fn scaled(limit: Duration) -> Duration {
    let factor = std::env::var(FACTOR_VARIABLE).ok().and_then(|text| parse_factor(&text));
    factor.map_or(limit, |factor| limit.mul_f64(factor))
}

/// Parses a factor. One that shortens limits is ignored, because it would only make tests fail.
fn parse_factor(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|factor| (1.0..=100.0).contains(factor))
}

/// Returns the time limit of a step without progress on this machine.
#[must_use]
pub fn limit() -> Duration {
    scaled(STALL_LIMIT)
}

/// Polls until `condition` holds. Returns false if it did not within `limit`.
pub fn until(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    try_until(limit, || Ok::<bool, std::convert::Infallible>(condition())).unwrap_or(false)
}

/// Like [`until`], but an error of `condition` ends the wait.
pub fn try_until<E>(limit: Duration, mut condition: impl FnMut() -> Result<bool, E>) -> Result<bool, E> {
    let deadline = Instant::now() + limit;
    loop {
        if condition()? {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Like [`try_until`], as long as there is progress: until the value of `progress` has not changed
/// for [`limit`], or for at most five times that.
pub fn try_while_progressing<P: PartialEq, E>(
    mut progress: impl FnMut() -> P,
    mut condition: impl FnMut() -> Result<bool, E>,
) -> Result<bool, E> {
    let limit = limit();
    let end = Instant::now() + limit * STALLS_MAX;
    let mut last = progress();
    loop {
        let stalled = Instant::now() + limit;
        if try_until(stalled.min(end).saturating_duration_since(Instant::now()), &mut condition)? {
            return Ok(true);
        }
        let now = progress();
        if now == last || Instant::now() >= end {
            return Ok(false);
        }
        last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_only_extends_limits() {
        let factors = ["2", " 1.5 ", "1", "0.5", "0", "-1", "NaN", "inf", "60 s", ""].map(parse_factor);
        let expected = [Some(2.0), Some(1.5), Some(1.0), None, None, None, None, None, None, None];
        assert_eq!(factors, expected);
    }
}
