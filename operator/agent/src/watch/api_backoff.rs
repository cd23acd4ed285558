//! Back-off between requests to the API server.

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use std::time::Duration;

/// First delay. A broken connection can usually be opened again at once; the jitter spreads the
/// agents of a whole cluster that lose it together.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Longest delay. An API server recovers within seconds; longer delays would only delay the node.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The delays between failed attempts.
#[derive(Debug, Default)]
pub(crate) struct ApiServerBackoff {
    /// The remaining delays, and whether the API server answered when they began; none after a
    /// success.
    running: Option<(ExponentialBackoff, bool)>,
}

impl ApiServerBackoff {
    pub(crate) fn is_active(&self) -> bool {
        self.running.is_some()
    }

    /// Called after a success. Returns whether there was a failure before.
    pub(crate) fn reset(&mut self) -> bool {
        self.running.take().is_some()
    }

    /// Returns the next delay. A server that has just restarted refuses a few requests ("storage is
    /// initializing", "too old resource version"): the delays begin again with its first answer.
    pub(crate) fn next(&mut self, answered: bool) -> Duration {
        let (mut waits, _) = match self.running.take() {
            Some((waits, had_answered)) if had_answered || !answered => (waits, had_answered),
            _ => (waits(), answered),
        };
        let wait = waits.next().unwrap_or(LONGEST_WAIT);
        self.running = Some((waits, answered));
        wait
    }
}

/// Delays with jitter, up to twice as long: thousands of nodes must not reconnect to a restarted
/// API server at the same moment.
fn waits() -> ExponentialBackoff {
    let waits = ExponentialBuilder::default().with_min_delay(FIRST_WAIT).with_max_delay(LONGEST_WAIT).with_factor(2.0);
    waits.with_jitter().without_max_times().build()
}

/// Returns at least `wait`, and up to half as long again: agents that got the same answer must not
/// retry at the same moment.
pub(crate) fn with_jitter(wait: Duration) -> Duration {
    wait.mul_f64(1.0 + fastrand::f64() / 2.0)
}

/// How long the API server itself asks to wait.
pub(crate) fn retry_after(error: &kube::Error) -> Duration {
    match error {
        kube::Error::Api(status) => {
            let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
            Duration::from_secs(seconds.into())
        }
        _ => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_without_an_answer_and_are_short_again_from_the_first_answer_on() {
        let mut backoff = ApiServerBackoff::default();
        let silent: Vec<Duration> = (0..6).map(|_| backoff.next(false)).collect();
        assert!(silent[0] < 2 * FIRST_WAIT && silent[5] >= LONGEST_WAIT, "{silent:?}");
        assert!(backoff.next(true) < 2 * FIRST_WAIT);
        let refused: Vec<Duration> = (0..5).map(|_| backoff.next(true)).collect();
        assert!(refused[4] >= LONGEST_WAIT, "a server that refuses for long is left in peace: {refused:?}");
        assert!(backoff.reset() && !backoff.reset());
    }

    #[test]
    fn the_delay_that_the_api_server_requests_is_respected() {
        let text = r#"{"code": 429, "reason": "TooManyRequests", "details": {"retryAfterSeconds": 7}}"#;
        let error = kube::Error::Api(serde_json::from_str(text).unwrap());
        let wait = with_jitter(retry_after(&error));
        assert!((Duration::from_secs(7)..=Duration::from_millis(10_500)).contains(&wait), "{wait:?}");
    }
}
