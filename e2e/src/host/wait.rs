//! Waiting for a condition, never for a length of time.

use std::thread;
use std::time::{Duration, Instant};

/// Pause between two checks. Short, because a test bed's start is a chain of such waits.
const PAUSE: Duration = Duration::from_millis(20);

/// Multiplies all time limits of test beds and cluster tests, for slow machines.
pub const FACTOR_VARIABLE: &str = "USNET_WORLD_TIMEOUT";

/// How long a step may go without progress. Generous, because many programs start at once on few
/// cores.
const STALLED: Duration = Duration::from_secs(60);

/// So many times [`STALLED`] ends a wait in any case: a program that restarts in a loop makes
/// progress too.
const STALLS_MAX: u32 = 5;

/// A time limit, multiplied by the factor in `USNET_WORLD_TIMEOUT`.
#[must_use]
pub fn scaled(limit: Duration) -> Duration {
    let factor = std::env::var(FACTOR_VARIABLE).ok().and_then(|text| parse_factor(&text));
    factor.map_or(limit, |factor| limit.mul_f64(factor))
}

/// A factor that shortens limits would only make tests fail.
fn parse_factor(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|factor| (1.0..=100.0).contains(factor))
}

/// How long a step may go without progress on this machine.
#[must_use]
pub fn limit() -> Duration {
    scaled(STALLED)
}

/// Looks again and again until `condition` holds; false when it did not within `limit`.
pub fn until(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    try_until(limit, || Ok::<bool, std::convert::Infallible>(condition())).unwrap_or(false)
}

/// The same for a condition that can fail for good.
///
/// # Errors
/// The first error of `condition`.
pub fn try_until<E>(limit: Duration, mut condition: impl FnMut() -> Result<bool, E>) -> Result<bool, E> {
    let deadline = Instant::now() + limit;
    loop {
        if condition()? {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        thread::sleep(PAUSE);
    }
}

/// The same for as long as there is progress: until what `progress` gives has stayed the same for
/// [`limit`], and not longer than five times that.
///
/// # Errors
/// The first error of `condition`.
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
