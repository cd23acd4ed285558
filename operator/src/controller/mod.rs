//! The controller: decides what every node should have, once for all of them. Steps in order; all but the first and the last two are pure:
//!
//! 1. [`watch`] (IO): everything that is looked at, applied to the [`cache`];
//! 2. [`dirty`]: from a change to what has to be evaluated again;
//! 3. [`plan`]: evaluates that, with [`compile`] (compiled networks, node states, definitions), [`status`] (what users read) and [`legacy`] (what
//!    definitions of the userspace CNI ask for), each a function of the cache;
//! 4. [`write`](mod@write): what is to be sent, in which order and how much at once;
//! 5. [`worker`] (IO): the loop that takes changes, evaluates and sends, and waits for none of them;
//! 6. [`events`] (IO): what happened, for `kubectl describe`.
//!
//! Nothing that is kept or written grows with networks × nodes. Several controllers may run: all watch, and the one that [`crate::leader`] chooses writes.

pub mod cache;
pub mod compile;
pub mod dirty;
pub mod events;
pub mod legacy;
pub mod metrics;
pub mod plan;
pub mod status;
pub(crate) mod watch;
mod worker;
pub mod write;

use crate::api_server;
use crate::leader::Elector;
use crate::telemetry::{self, Telemetry};
use futures::FutureExt;
use metrics::Metrics;
use std::sync::Arc;
use tokio::sync::oneshot;
use worker::{Desk, Worker};

/// Options of `usnet controller`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The name by which this controller stands for election: that of its pod, which the API server reads from the pod's token as well.
    #[arg(long, env = "POD_NAME")]
    pub identity: String,
    #[command(flatten)]
    legacy: legacy::Options,
    #[command(flatten)]
    telemetry: telemetry::ListenOptions,
}

/// Why the controller ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no way to the API server.
    #[error(transparent)]
    ApiServer(#[from] api_server::Error),
    /// Its state cannot be served.
    #[error(transparent)]
    Telemetry(#[from] telemetry::Error),
    /// A mistake in the program.
    #[error("the metrics could not be registered")]
    Metrics(#[from] prometheus::Error),
    /// The watches ended, which they never do by themselves.
    #[error(transparent)]
    WatchesEnded(#[from] Ended),
}

/// The watches ended, which they never do by themselves.
#[derive(Debug, thiserror::Error)]
#[error("the watches of the API server ended: restart the controller")]
pub struct Ended;

/// Runs the controller until `end`. An API server that is away is waited for.
///
/// # Errors
/// When it cannot start, or the watches end.
pub async fn run(options: Options, end: impl Future<Output = ()>) -> Result<(), Error> {
    let client = api_server::client().await?;
    let telemetry = Arc::new(Telemetry::default());
    let metrics = Arc::new(Metrics::register(telemetry.registry())?);
    let (announcer, notices) = events::queue(metrics.dropped_events());
    let elector = Elector::new(client.clone(), options.identity.clone());
    // Whatever is written goes through the fence.
    let writer = elector.fence().client(&client);
    let worker = Worker {
        watcher: client,
        writer: writer.clone(),
        roles: elector.roles(),
        legacy: options.legacy,
        metrics,
        announcer,
        telemetry: Arc::clone(&telemetry),
        observer: watch::Observer::default(),
        desk: Desk::default(),
        is_leader: false,
    };
    let (end_election, ended) = oneshot::channel::<()>();
    // A task of its own, so that the lease is renewed while an evaluation computes.
    let election = tokio::spawn(elector.stand_until(ended.map(drop)));
    let wait_for_end = async {
        end.await;
        drop(end_election);
        Ok(())
    };
    let publish = async {
        events::publish(writer, options.identity, notices).await;
        Ok(())
    };
    let work = async { worker.run().await.map_err(Error::from) };
    let result = tokio::select! {
        result = async { tokio::try_join!(work, wait_for_end, publish) } => result.map(drop),
        Err(error) = telemetry.serve(options.telemetry) => Err(error.into()),
    };
    if let Ok(elector) = election.await {
        elector.release().await;
    }
    result
}

#[cfg(test)]
mod tests;
