//! How often something may be done: a burst, and then a steady rate. Pure; time is passed in.

use std::time::{Duration, Instant};

/// A token bucket.
#[derive(Debug, Clone)]
pub struct TokenBucket {
    burst: u32,
    interval: Duration,
    tokens: u32,
    refilled: Option<Instant>,
}

impl TokenBucket {
    /// A full bucket of `burst` tokens, which gets one more in each `interval`.
    #[must_use]
    pub const fn new(burst: u32, interval: Duration) -> Self {
        Self { burst, interval, tokens: burst, refilled: None }
    }

    /// Whether a token is available.
    #[must_use]
    pub fn has_token(&self, now: Instant) -> bool {
        self.next_token().is_none_or(|next| next <= now)
    }

    /// Takes a token, if one is available.
    pub fn take_token(&mut self, now: Instant) {
        let refilled = self.refilled.unwrap_or(now);
        let elapsed = now.saturating_duration_since(refilled);
        let new = u32::try_from(elapsed.as_nanos() / self.interval.as_nanos().max(1)).unwrap_or(u32::MAX);
        let tokens = self.tokens.saturating_add(new).min(self.burst);
        // A full bucket gets its next token an interval from now.
        self.refilled = Some(if tokens == self.burst { now } else { refilled + self.interval * new });
        self.tokens = tokens.saturating_sub(1);
    }

    /// When the next token is there; none if one was there at the last take.
    #[must_use]
    pub fn next_token(&self) -> Option<Instant> {
        let refilled = self.refilled.filter(|_| self.tokens == 0)?;
        Some(refilled + self.interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The milliseconds at which tokens are taken, as soon as they are there.
    fn taken(bucket: &mut TokenBucket, start: Instant, milliseconds: std::ops::Range<u64>) -> Vec<u64> {
        let mut taken = Vec::new();
        for millisecond in milliseconds {
            let now = start + Duration::from_millis(millisecond);
            while bucket.has_token(now) {
                bucket.take_token(now);
                taken.push(millisecond);
            }
        }
        taken
    }

    #[test]
    fn after_the_burst_there_is_one_in_each_interval() {
        let (mut bucket, start) = (TokenBucket::new(3, Duration::from_millis(100)), Instant::now());
        assert_eq!(taken(&mut bucket, start, 0..350), [0, 0, 0, 100, 200, 300]);
        assert_eq!(bucket.next_token(), Some(start + Duration::from_millis(400)));
    }

    #[test]
    fn a_pause_fills_it_up_to_the_burst() {
        let (mut bucket, start) = (TokenBucket::new(3, Duration::from_millis(100)), Instant::now());
        taken(&mut bucket, start, 0..50);
        assert_eq!(taken(&mut bucket, start, 250..310), [250, 250, 300], "two intervals and a half have passed");
        assert_eq!(taken(&mut bucket, start, 10_000..10_150), [10_000, 10_000, 10_000, 10_100]);
    }
}
