//! TLS handshakes, one after the other and with a pause between them. Every client that reaches the
//! address causes one before it has to show a token: however many there are, they take a small part
//! of one core from the work of the program.

use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// Shorter would give a flood more of the processor. All connections that may be open at a time get
/// their turn within 0.7 s, which is less than a scraper waits.
pub(super) const HANDSHAKE_INTERVAL: Duration = Duration::from_millis(5);

/// When the next handshake may begin. The mutex is fair: clients are served in their order.
#[derive(Debug, Default)]
pub(super) struct Pace(Mutex<Option<Instant>>);

impl Pace {
    /// Waits until a handshake may begin.
    pub(super) async fn turn(&self) {
        let mut next = self.0.lock().await;
        if let Some(next) = *next {
            sleep_until(next).await;
        }
        *next = Some(Instant::now() + HANDSHAKE_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[tokio::test(start_paused = true)]
    async fn one_begins_at_once_and_others_in_their_order_after_a_pause() {
        let (pace, start) = (Arc::new(Pace::default()), Instant::now());
        let turns: Vec<_> = (0..10)
            .map(|_| {
                let pace = Arc::clone(&pace);
                tokio::spawn(async move {
                    pace.turn().await;
                    start.elapsed()
                })
            })
            .collect();
        // A client that has gone does not hold up the others.
        turns[4].abort();
        let mut begun = Vec::new();
        for turn in turns {
            begun.extend(turn.await);
        }
        let expected: Vec<Duration> = (0..9).map(|number| HANDSHAKE_INTERVAL * number).collect();
        assert_eq!(begun, expected);
    }
}
