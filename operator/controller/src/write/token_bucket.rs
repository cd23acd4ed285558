//! Rate limit of count-only statuses: a burst and then a steady rate, so that a node with many
//! networks that becomes ready or unready does not load the API server. Pure; time is passed in.

use std::time::Duration;
use tokio::time::Instant;

/// Statuses per second. More would take capacity of the API server from writes that users wait for;
/// at this rate the counts of 10,000 networks are updated within minutes.
const RATE: u32 = 40;
/// The burst after a pause, so that the counts of a few networks are not delayed.
const BURST: u32 = 10;

/// A token bucket.
#[derive(Debug)]
pub struct TokenBucket {
    tokens: u32,
    refilled: Option<Instant>,
}

impl Default for TokenBucket {
    fn default() -> Self {
        Self { tokens: BURST, refilled: None }
    }
}

impl TokenBucket {
    const INTERVAL: Duration = Duration::from_millis(1_000 / RATE as u64);

    /// Whether a token is available.
    pub fn has_token(&mut self, now: Instant) -> bool {
        let refilled = *self.refilled.get_or_insert(now);
        let elapsed = now.saturating_duration_since(refilled);
        let new = u32::try_from(elapsed.as_millis() / Self::INTERVAL.as_millis()).unwrap_or(BURST);
        if new > 0 {
            self.tokens = self.tokens.saturating_add(new).min(BURST);
            self.refilled = Some(now);
        }
        self.tokens > 0
    }

    /// Takes a token.
    pub const fn take_token(&mut self) {
        self.tokens = self.tokens.saturating_sub(1);
    }

    /// When the next token is available; none while one is.
    pub fn next_token(&self, now: Instant) -> Option<Instant> {
        (self.tokens == 0).then(|| self.refilled.unwrap_or(now) + Self::INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_fifty_are_sent_in_a_second() {
        let (mut bucket, start) = (TokenBucket::default(), Instant::now());
        let mut sent = 0;
        for millisecond in 0..1_000 {
            while bucket.has_token(start + Duration::from_millis(millisecond)) {
                bucket.take_token();
                sent += 1;
            }
        }
        assert!((40..=50).contains(&sent), "{sent}");
        let now = start + Duration::from_millis(999);
        assert!(bucket.next_token(now).is_some_and(|next| next > now - TokenBucket::INTERVAL));
    }
}
