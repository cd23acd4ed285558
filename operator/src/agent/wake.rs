//! What wakes the loop: a new spec, a change in the engine, in the journal or among the network files, or the time to try again.

use std::future::pending;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{sleep, sleep_until};

/// Changes come in bursts; this is how long the first waits for the others.
const GATHER: Duration = Duration::from_millis(3);

/// Why the loop woke.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wake {
    /// When the first of the events was seen.
    pub since: Instant,
    /// Whether it is time to try again what failed.
    pub retry: bool,
}

/// The sources of change, each of which may fall silent for ever.
#[derive(Debug)]
pub(super) struct Sources<S, E> {
    /// What the node should have.
    pub specs: watch::Receiver<S>,
    /// The engine's rows, or that it is gone.
    pub engine: watch::Receiver<E>,
    /// The journal and the network files.
    pub folders: watch::Receiver<()>,
}

impl<S, E> Sources<S, E> {
    /// Waits for a change, for `retry_at` or for `look_at`, whichever is first, and takes in all changes of the same burst.
    pub(super) async fn next(&mut self, retry_at: Option<Instant>, look_at: Option<Instant>) -> Wake {
        // Each branch only waits; nothing is lost when another is quicker.
        let retry = tokio::select! {
            () = changed(&mut self.specs) => false,
            () = changed(&mut self.engine) => false,
            () = changed(&mut self.folders) => false,
            () = until(retry_at) => true,
            () = until(look_at) => false,
        };
        let since = Instant::now();
        sleep(GATHER).await;
        self.specs.mark_unchanged();
        self.engine.mark_unchanged();
        self.folders.mark_unchanged();
        Wake { since, retry: retry || retry_at.is_some_and(|at| at <= Instant::now()) }
    }
}

async fn changed<T>(source: &mut watch::Receiver<T>) {
    if source.changed().await.is_err() {
        pending::<()>().await;
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment.into()).await,
        None => pending().await,
    }
}
