//! Starts the parts of the controller and ends them in order (IO).

use super::agents;
use super::leader_state::LeaderState;
use super::metrics::Metrics;
use super::worker::{Ended, Worker};
use crate::leader::Elector;
use crate::{device_classes, events, legacy, watch};
use futures::FutureExt;
use std::sync::Arc;
use tokio::sync::{oneshot, watch::channel};
use usnet_common::api::client;
use usnet_common::telemetry::access::reviewer::{self, Reviewer};
use usnet_common::telemetry::{self, Telemetry};

/// Options of `usnet controller`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The identity of this replica in the leader election: the name of its pod, which the API
    /// server also reads from the pod's token.
    #[arg(long, env = "POD_NAME")]
    pub identity: String,
    /// Whether interfaces are attached for UserspaceAttachments: config/components/hot-plug.
    #[arg(long, env = "USNET_ATTACHMENTS", value_enum, default_value_t)]
    pub attachments: Attachments,
    #[command(flatten)]
    legacy: legacy::Options,
    #[command(flatten)]
    telemetry: telemetry::ListenOptions,
}

/// Whether there are UserspaceAttachments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "PascalCase")]
pub enum Attachments {
    /// Attachments are served.
    Enabled,
    /// Attachments are neither read nor written.
    #[default]
    Disabled,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    ApiServer(#[from] client::Error),
    /// Metrics and probes cannot be served.
    #[error(transparent)]
    Telemetry(#[from] telemetry::Error),
    /// A metric is registered twice, which is a bug in this program.
    #[error("cannot register the metrics")]
    Metrics(#[from] prometheus::Error),
    /// The watches ended, which they never do by themselves.
    #[error(transparent)]
    WatchesEnded(#[from] Ended),
}

/// Runs the controller until `end`. It waits for an API server that is unreachable.
pub async fn run(options: Options, end: impl Future<Output = ()>) -> Result<(), Error> {
    let client = client::client().await?;
    let telemetry = Arc::new(Telemetry::of_program()?);
    let metrics = Arc::new(Metrics::register(telemetry.registry())?);
    let (event_recorder, records) = events::queue(metrics.dropped_events());
    let elector = Elector::new(client.clone(), options.identity.clone());
    // All writes pass the fence.
    let writer = elector.fence().client(&client);
    // A standby serves metrics too.
    let reviewer: Arc<dyn Reviewer> = Arc::new(reviewer::ApiServer::new(client.clone()));
    let (claimable, claimable_in_publisher) = channel(None);
    let classes = device_classes::publish(client.clone(), writer.clone(), claimable_in_publisher);
    let worker = Worker {
        watcher: client.clone(),
        writer: writer.clone(),
        roles: elector.roles(),
        legacy: options.legacy,
        has_attachments: options.attachments == Attachments::Enabled,
        metrics: Arc::clone(&metrics),
        event_recorder,
        claimable,
        telemetry: Arc::clone(&telemetry),
        observer: watch::Observer::default(),
        state: LeaderState::default(),
        is_leader: false,
    };
    let (end_election, ended) = oneshot::channel::<()>();
    // A task of its own, so that the lease is renewed while an evaluation computes.
    let election = tokio::spawn(elector.run_until(ended.map(drop)));
    let wait_for_end = async {
        end.await;
        drop(end_election);
        Ok(())
    };
    let publish = async {
        events::publish(writer, options.identity, records).await;
        Ok(())
    };
    let work = async { worker.run().await.map_err(Error::from) };
    let result = tokio::select! {
        result = async { tokio::try_join!(work, wait_for_end, publish) } => result.map(drop),
        never = classes => match never {},
        never = agents::count(client, &metrics) => match never {},
        Err(error) = telemetry.serve(options.telemetry, Some(reviewer)) => Err(error.into()),
    };
    if let Ok(elector) = election.await {
        elector.release().await;
    }
    result
}
