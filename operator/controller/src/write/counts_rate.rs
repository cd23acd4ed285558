//! The rate of statuses that change only counts, of all networks together: a node with many
//! networks that becomes ready or unready must not load the API server.

use std::time::Duration;
use usnet_common::token_bucket::TokenBucket;

/// Statuses per second. More would take capacity of the API server from writes that users wait for;
/// at this rate the counts of 10,000 networks are updated within minutes.
const RATE: u64 = 40;
/// The burst after a pause, so that the counts of a few networks are not delayed.
const BURST: u32 = 10;

/// The bucket of this rate.
#[derive(Debug)]
pub struct CountsBucket(pub TokenBucket);

impl Default for CountsBucket {
    fn default() -> Self {
        Self(TokenBucket::new(BURST, Duration::from_millis(1_000 / RATE)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn no_more_than_fifty_are_sent_in_a_second() {
        let (CountsBucket(mut bucket), start) = (CountsBucket::default(), Instant::now());
        let mut sent = 0;
        for millisecond in 0..1_000 {
            let now = start + Duration::from_millis(millisecond);
            while bucket.has_token(now) {
                bucket.take_token(now);
                sent += 1;
            }
        }
        assert!((40..=50).contains(&sent), "{sent}");
    }
}
