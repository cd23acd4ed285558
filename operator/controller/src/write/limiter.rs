//! Limits the number of requests in flight by the capacity of the API server (AIMD): one more for
//! each round of successes, half as many after a sign of overload. Pure; time is passed in.

use std::time::Duration;
use tokio::time::Instant;

/// The initial limit: enough to be fast on a healthy API server.
const START: f64 = 16.0;
/// The maximum: beyond it one client gains nothing and delays others.
const MAXIMUM: f64 = 64.0;
/// Requests that were sent together fail together: they count as one overload. Without this window
/// the limit would drop to 1 at the first overload.
const OVERLOAD_WINDOW: Duration = Duration::from_secs(1);

/// The limit of requests in flight.
#[derive(Debug)]
pub struct Limiter {
    limit: f64,
    halved: Option<Instant>,
    paused_until: Option<Instant>,
}

impl Default for Limiter {
    fn default() -> Self {
        Self { limit: START, halved: None, paused_until: None }
    }
}

impl Limiter {
    /// The current limit.
    pub fn limit(&self, now: Instant) -> usize {
        if self.paused_until.is_some_and(|until| now < until) {
            return 0;
        }
        // Between 1 and 64.
        self.limit as usize
    }

    /// The end of the current pause.
    pub fn paused_until(&self) -> Option<Instant> {
        self.paused_until
    }

    /// Records a success.
    pub fn succeeded(&mut self) {
        self.limit = (self.limit + 1.0 / self.limit).min(MAXIMUM);
    }

    /// Records a timeout or an overload response, with its `Retry-After`.
    pub fn overloaded(&mut self, now: Instant, pause: Option<Duration>) {
        if self.halved.is_none_or(|halved| now >= halved + OVERLOAD_WINDOW) {
            self.limit = (self.limit / 2.0).max(1.0);
            self.halved = Some(now);
        }
        let until = pause.map(|pause| now + pause);
        self.paused_until = self.paused_until.max(until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_halves_once_for_each_sign_and_grows_back() {
        let (mut limiter, start) = (Limiter::default(), Instant::now());
        assert_eq!(limiter.limit(start), 16);
        for _ in 0..10 {
            limiter.overloaded(start, None);
        }
        assert_eq!(limiter.limit(start), 8, "requests that fail together are one sign");
        for second in 1..10 {
            limiter.overloaded(start + Duration::from_secs(second), None);
        }
        assert_eq!(limiter.limit(start), 1, "one may always try");
        for _ in 0..1_000 {
            limiter.succeeded();
        }
        assert_eq!(limiter.limit(start), 44);
        for _ in 0..10_000 {
            limiter.succeeded();
        }
        assert_eq!(limiter.limit(start), 64);
    }

    #[test]
    fn nothing_is_sent_before_the_api_server_asks_for_it() {
        let (mut limiter, start) = (Limiter::default(), Instant::now());
        limiter.overloaded(start, Some(Duration::from_secs(2)));
        assert_eq!(limiter.limit(start + Duration::from_secs(1)), 0);
        assert_eq!(limiter.limit(start + Duration::from_secs(2)), 8);
    }
}
