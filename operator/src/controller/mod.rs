//! The controller: decides what every node should have. One pass is [`observe`] → [`compile`] → [`diff`] (with [`report`]) → [`apply`];
//! only the first and the last touch the API server, what lies between is pure. Every change that is seen starts a pass, and what a pass writes
//! is seen in turn, so that work goes on until there is no difference left.

pub mod apply;
pub mod compile;
pub mod diff;
mod drain;
pub mod from_nad;
pub mod events;
pub mod inputs;
pub mod notice;
mod observe;
mod parse;
mod refusal;
pub mod report;
mod tally;

use crate::api_server;
use futures::StreamExt;
use inputs::Inputs;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use observe::Observer;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Changes come in bursts; one pass deals with a whole burst.
const GATHER: Duration = Duration::from_millis(80);
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// Options of `usnet controller`; there is nothing to choose.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {}

/// Why the controller ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no way to the API server.
    #[error(transparent)]
    ApiServer(#[from] api_server::Error),
    /// The watches ended, which they never do by themselves.
    #[error("the watches of the API server ended: restart the controller")]
    WatchesEnded,
}

/// Runs the controller until it is dropped.
///
/// # Errors
/// When it cannot start.
pub async fn run(_options: Options) -> Result<(), Error> {
    run_with(api_server::client().await?).await
}

/// Runs the controller with this client until it is dropped. An API server that is away is waited for.
///
/// # Errors
/// When the watches end.
pub async fn run_with(client: Client) -> Result<(), Error> {
    let mut observer = Observer::default();
    let mut changes = observe::changes(&client);
    let mut troubles = Troubles::default();
    let mut retry = FIRST_RETRY;
    let mut next_pass: Option<Instant> = None;
    loop {
        tokio::select! {
            change = changes.next() => {
                if observer.take(change.ok_or(Error::WatchesEnded)?) {
                    let soon = Instant::now() + GATHER;
                    next_pass = Some(next_pass.map_or(soon, |at| at.min(soon)));
                }
            }
            () = sleep_until(next_pass.unwrap_or_else(Instant::now)), if next_pass.is_some() => {
                next_pass = None;
                let Some(inputs) = observer.inputs() else { continue };
                if pass(&client, inputs, &mut troubles).await {
                    retry = FIRST_RETRY;
                } else {
                    next_pass = Some(Instant::now() + retry);
                    retry = (retry * 2).min(LONGEST_RETRY);
                }
            }
        }
    }
}

/// One pass; false when a write failed and should be tried again.
async fn pass(client: &Client, inputs: &Inputs, troubles: &mut Troubles) -> bool {
    let compiled = compile::compile(inputs);
    let mut writes = diff::diff(inputs, &compiled);
    writes.extend(diff::statuses(inputs, report::report(inputs, &compiled, &now())));
    troubles.replace(&apply::apply(client, writes).await)
}

/// Kubernetes keeps whole seconds.
fn now() -> Time {
    let now = Timestamp::now();
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}

/// What went wrong in the last pass, so that a trouble is logged when it begins and not every time it is met again.
#[derive(Default)]
struct Troubles(BTreeSet<String>);

impl Troubles {
    /// Logs what is new; true when there is none.
    fn replace(&mut self, errors: &[apply::Error]) -> bool {
        let found: BTreeSet<String> = errors.iter().map(ToString::to_string).collect();
        for trouble in found.difference(&self.0) {
            tracing::warn!("{trouble}; trying again until it works");
        }
        self.0 = found;
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests;
