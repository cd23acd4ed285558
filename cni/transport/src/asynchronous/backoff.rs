//! The back-off between two connections.

use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The pauses between attempts to connect: they double from a shortest to a longest one.
#[derive(Debug)]
pub(super) struct Backoff {
    shortest: Duration,
    longest: Duration,
    pause: Duration,
    /// The time at which the last attempt began.
    started: Instant,
}

impl Backoff {
    /// Begins with the first attempt.
    pub(super) fn new(shortest: Duration, longest: Duration) -> Self {
        Self { shortest, longest, pause: shortest, started: Instant::now() }
    }

    /// Waits for the next attempt after a connection has failed or ended. Returns false if
    /// `no_callers` completes before.
    pub(super) async fn wait(&mut self, no_callers: impl Future<Output = ()>) -> bool {
        // Only a connection that lasted resets the pause: a server that accepts connections and
        // drops them immediately must not be connected to in a loop.
        if self.started.elapsed() > self.longest {
            self.pause = self.shortest;
        }
        tokio::select! {
            () = sleep(self.pause) => {}
            () = no_callers => return false,
        }
        self.pause = (self.pause * 2).min(self.longest);
        self.started = Instant::now();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Backoff, Duration, Instant};
    use std::future::{pending, ready};

    const SHORTEST: Duration = Duration::from_millis(20);
    const LONGEST: Duration = Duration::from_millis(80);

    // On a clock that moves only while all tasks wait, so that a busy machine changes nothing.
    #[tokio::test(start_paused = true)]
    async fn pauses_double_up_to_the_longest_and_a_connection_that_lasted_resets_them() {
        let mut backoff = Backoff::new(SHORTEST, LONGEST);
        for expected in [SHORTEST, SHORTEST * 2, LONGEST, LONGEST] {
            let started = Instant::now();
            assert!(backoff.wait(pending()).await);
            assert_eq!(started.elapsed(), expected);
        }
        tokio::time::sleep(LONGEST * 2).await;
        let started = Instant::now();
        assert!(backoff.wait(pending()).await);
        assert_eq!(started.elapsed(), SHORTEST);
        assert!(!backoff.wait(ready(())).await, "no caller is left");
    }
}
