//! What wakes a lane: a new spec, a change in its engine, in the journal or among the network files, or the time to look or try again.

use std::future::pending;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{sleep, sleep_until};

/// Changes come in bursts; this is how long the first waits for the others.
const GATHER: Duration = Duration::from_millis(3);

/// Why the lane woke.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wake {
    /// When the first of the events was seen.
    pub since: Instant,
    /// Whether it is time to try again what failed.
    pub retry: bool,
    /// Whether the journal or the network files may have changed.
    pub folders: bool,
}

/// When to wake although nothing happened, and when not to although something did.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Alarms {
    /// To try again what failed.
    pub retry_at: Option<Instant>,
    /// To look at the engine.
    pub look_at: Option<Instant>,
    /// When the engine may wake it again.
    pub not_before: Option<Instant>,
}

/// The sources of change, each of which may fall silent for ever.
#[derive(Debug)]
pub(super) struct Sources<S, E> {
    /// What the node should have.
    pub specs: watch::Receiver<S>,
    /// The engine's rows or events, or that it is gone.
    pub engine: watch::Receiver<E>,
    /// The journal and the network files.
    pub folders: watch::Receiver<()>,
}

impl<S, E> Sources<S, E> {
    /// Waits until the engine may be asked again, unless something else changes before, and says whether the folders did: people and pods do not wait for that.
    async fn pause(&mut self, not_before: Option<Instant>) -> bool {
        let Some(moment) = not_before else { return false };
        tokio::select! {
            () = sleep_until(moment.into()) => false,
            () = changed(&mut self.specs) => false,
            () = changed(&mut self.folders) => true,
        }
    }

    /// Waits for a change or an alarm, whichever is first, and takes in all changes of the same burst.
    pub(super) async fn next(&mut self, alarms: Alarms) -> Wake {
        // Each branch only waits; nothing is lost when another is quicker.
        let (specs, folders) = tokio::select! {
            () = changed(&mut self.specs) => (true, false),
            () = changed(&mut self.engine) => (false, false),
            () = changed(&mut self.folders) => (false, true),
            () = until(alarms.retry_at) => (false, false),
            () = until(alarms.look_at) => (false, false),
        };
        let since = Instant::now();
        sleep(GATHER).await;
        let folders = folders || (!specs && self.pause(alarms.not_before).await);
        let folders = folders | take(&mut self.folders);
        take(&mut self.specs);
        take(&mut self.engine);
        let retry = alarms.retry_at.is_some_and(|at| at <= Instant::now());
        Wake { since, retry, folders }
    }
}

/// Whether there was a change; then there is none any more.
fn take<T>(source: &mut watch::Receiver<T>) -> bool {
    let has_changed = source.has_changed().unwrap_or(false);
    source.mark_unchanged();
    has_changed
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
