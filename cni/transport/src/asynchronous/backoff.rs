//! When to connect again.

use super::Request;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

/// The pauses between attempts to connect: they double from a shortest to a longest one.
#[derive(Debug)]
pub struct Backoff {
    shortest: Duration,
    longest: Duration,
    pause: Duration,
    /// When the last attempt began.
    started: Instant,
}

impl Backoff {
    /// The first attempt begins now.
    #[must_use]
    pub fn new(shortest: Duration, longest: Duration) -> Self {
        Self { shortest, longest, pause: shortest, started: Instant::now() }
    }

    /// Waits for the next attempt after a connection has failed or ended; `refuse` answers the
    /// requests that arrive meanwhile, so that they fail at once and are not queued. Returns
    /// whether there is a next attempt: not if all callers are gone.
    pub async fn wait<Q, A>(&mut self, requests: &mut mpsc::Receiver<Request<Q, A>>, refuse: impl Fn() -> A) -> bool {
        // Only a connection that lasted resets the pause: a server that accepts connections and
        // drops them immediately must not be connected to in a loop.
        if self.started.elapsed() > self.longest {
            self.pause = self.shortest;
        }
        tokio::select! {
            () = sleep(self.pause) => {}
            () = reject(requests, refuse) => return false,
        }
        self.pause = (self.pause * 2).min(self.longest);
        self.started = Instant::now();
        true
    }
}

/// Answers all requests with an error while there is no connection. Returns when all callers are
/// gone.
pub async fn reject<Q, A>(requests: &mut mpsc::Receiver<Request<Q, A>>, refuse: impl Fn() -> A) {
    while let Some(request) = requests.recv().await {
        // The receiver is gone if the caller was cancelled.
        let _receiver_gone = request.answer.send(refuse());
    }
}
