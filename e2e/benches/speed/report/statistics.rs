//! Figures of several durations.

use std::time::Duration;

/// The middle of several durations.
pub(crate) fn median(durations: &[Duration]) -> Duration {
    percentile(durations, 50)
}

/// The duration that this part of several does not exceed, in percent.
pub(crate) fn percentile(durations: &[Duration], percent: usize) -> Duration {
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1]
}

/// A duration in milliseconds.
pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// How many times the other a duration is.
pub(crate) fn times(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}
