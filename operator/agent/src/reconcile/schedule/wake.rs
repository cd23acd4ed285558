//! What triggers a reconcile: a new spec, a change in its engine, in the journal or in the network
//! files, or a timer to observe the engine or to retry.

use std::future::pending;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{sleep, sleep_until};

/// How long the first change of a burst waits for the others. It delays each repair of a port;
/// without it, a transaction of several rows would be reconciled more than once.
const DEBOUNCE: Duration = Duration::from_millis(3);

/// Why a reconcile was triggered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wake {
    /// When the first of the events was seen.
    pub since: Instant,
    /// Whether it is time to retry what failed.
    pub retry: bool,
    /// Whether the journal or the network files may have changed.
    pub folders: bool,
    /// Whether devices of the node may have changed.
    pub links: bool,
}

/// When to wake although nothing changed, and until when to ignore changes in the engine.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Timers {
    /// When to retry what failed.
    pub retry_at: Option<Instant>,
    /// When to observe the engine.
    pub observe_at: Option<Instant>,
    /// When the engine may trigger a reconcile again.
    pub not_before: Option<Instant>,
}

/// The sources of change, each of which may stay silent indefinitely.
#[derive(Debug)]
pub(crate) struct Sources<S, E> {
    /// The spec of the node.
    pub specs: watch::Receiver<S>,
    /// Changes of the engine, or the loss of its connection.
    pub engine: watch::Receiver<E>,
    /// Changes of the journal and of the network files.
    pub folders: watch::Receiver<()>,
    /// Changes of the node's devices.
    pub links: watch::Receiver<()>,
}

impl<S, E> Sources<S, E> {
    /// Waits until the engine may be observed again, or until a spec or an attachment changes,
    /// which are not delayed by that interval. Returns whether the folders changed.
    async fn pause(&mut self, not_before: Option<Instant>) -> bool {
        let Some(moment) = not_before else { return false };
        tokio::select! {
            () = sleep_until(moment.into()) => false,
            () = changed(&mut self.specs) => false,
            () = changed(&mut self.folders) => true,
        }
    }

    /// Waits for a change or a timer, and consumes all changes of the same burst.
    pub(crate) async fn next(&mut self, timers: Timers) -> Wake {
        // Each branch only waits; nothing is lost when another one completes first.
        let (specs, folders) = tokio::select! {
            () = changed(&mut self.specs) => (true, false),
            () = changed(&mut self.engine) => (false, false),
            () = changed(&mut self.folders) => (false, true),
            () = changed(&mut self.links) => {
                self.links.mark_changed();
                (false, false)
            }
            () = until(timers.retry_at) => (false, false),
            () = until(timers.observe_at) => (false, false),
        };
        let since = Instant::now();
        // The spec builder has already waited for bursts of specs.
        if !specs {
            sleep(DEBOUNCE).await;
        }
        let folders = folders || (!specs && self.pause(timers.not_before).await);
        let folders = folders | consume(&mut self.folders);
        consume(&mut self.specs);
        consume(&mut self.engine);
        let links = consume(&mut self.links);
        let retry = timers.retry_at.is_some_and(|at| at <= Instant::now());
        Wake { since, retry, folders, links }
    }
}

/// Consumes a change; returns whether there was one.
fn consume<T>(source: &mut watch::Receiver<T>) -> bool {
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
