//! The controller: decides what every node should have. One pass is [`observe`] → [`ledger`] (with [`compile`], [`from_nad`] and [`report`]) →
//! [`apply`]; only the first and the last touch the API server, what lies between is pure and looks only at what changed. Every change that is
//! seen starts a pass, and what a pass writes is seen in turn, so that work goes on until there is no difference left.
//!
//! Several controllers may run: all watch, and the one that [`crate::leader`] chooses makes passes.

pub mod apply;
pub mod by_name;
pub mod changes;
pub mod compile;
pub mod diff;
mod drain;
pub mod events;
pub mod feed;
mod follow_up;
pub mod from_nad;
pub mod inputs;
pub mod ledger;
pub mod metrics;
pub mod news;
pub mod notice;
mod observe;
pub(crate) mod parse;
mod refusal;
pub mod report;
mod tally;
pub mod throttle;

use crate::api_server;
use crate::leader::{Elector, Role};
use crate::telemetry::{self, Telemetry};
use apply::Outcome;
use changes::Changes;
use diff::Write;
use follow_up::FollowUp;
use futures::{FutureExt, StreamExt};
use inputs::Inputs;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use ledger::Ledger;
use metrics::Metrics;
use observe::Observer;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep_until};

/// Changes come in bursts; one pass deals with a whole burst.
const GATHER: Duration = Duration::from_millis(80);
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// Options of `usnet controller`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The name by which this controller stands for election: that of its pod, which the API server reads from the pod's token as well.
    #[arg(long, env = "POD_NAME")]
    pub identity: String,
    #[command(flatten)]
    telemetry: telemetry::ListenOptions,
}

/// Why the controller ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no way to the API server.
    #[error(transparent)]
    ApiServer(#[from] api_server::Error),
    /// Nobody can ask how it is.
    #[error(transparent)]
    Telemetry(#[from] telemetry::Error),
    /// A mistake in the program.
    #[error("the metrics could not be registered")]
    Metrics(#[from] prometheus::Error),
    /// The watches ended, which they never do by themselves.
    #[error("the watches of the API server ended: restart the controller")]
    WatchesEnded,
}

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
        ledger: Ledger::default(),
        follow_up: FollowUp::new(Arc::clone(&metrics), announcer),
        metrics,
        telemetry: Arc::clone(&telemetry),
    };
    let (end_election, ended) = oneshot::channel::<()>();
    // A task of its own, so that the lease is renewed while a pass computes.
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
    let result = tokio::select! {
        result = async { tokio::try_join!(worker.work(), wait_for_end, publish) } => result.map(drop),
        Err(error) = telemetry.serve(options.telemetry) => Err(error.into()),
    };
    if let Ok(elector) = election.await {
        elector.release().await;
    }
    result
}

/// Everything that passes need.
struct Worker {
    watcher: Client,
    writer: Client,
    roles: Receiver<Role>,
    /// What was compiled, kept from pass to pass while this controller leads.
    ledger: Ledger,
    follow_up: FollowUp,
    metrics: Arc<Metrics>,
    telemetry: Arc<Telemetry>,
}

impl Worker {
    /// Watches always, makes passes while this controller leads, and ends when its role does.
    async fn work(mut self) -> Result<(), Error> {
        let mut observer = Observer::default();
        let mut changes = observe::changes(&self.watcher);
        let mut retry = FIRST_RETRY;
        let mut next_pass: Option<Instant> = None;
        let mut leads = false;
        loop {
            tokio::select! {
                change = changes.next() => {
                    if observer.take(change.ok_or(Error::WatchesEnded)?) {
                        self.metrics.waiting_changes.add(i64::from(leads));
                        next_pass = earlier(next_pass, Some(Instant::now() + GATHER));
                    }
                    if observer.is_complete() {
                        self.telemetry.set_ready();
                    }
                }
                election = self.roles.changed() => {
                    let role = *self.roles.borrow_and_update();
                    if role == Role::Ended || election.is_err() {
                        return Ok(());
                    }
                    leads = role == Role::Leader;
                    self.take_role(leads);
                    observer.start_over();
                    next_pass = earlier(next_pass, Some(Instant::now() + GATHER));
                }
                () = sleep_until(next_pass.unwrap_or_else(Instant::now)), if leads && next_pass.is_some() => {
                    next_pass = None;
                    let Some((inputs, changes)) = observer.inputs() else { continue };
                    self.metrics.waiting_changes.set(0);
                    let Pass { is_done, due } = self.pass(inputs, &changes).await;
                    next_pass = due;
                    if is_done {
                        retry = FIRST_RETRY;
                    } else {
                        next_pass = earlier(due, Some(Instant::now() + retry));
                        retry = (retry * 2).min(LONGEST_RETRY);
                    }
                }
            }
        }
    }

    /// What was compiled before is of no use: another may have led meanwhile.
    fn take_role(&mut self, leads: bool) {
        self.ledger = Ledger::default();
        if leads {
            self.metrics.leader.set(1);
            self.follow_up.forget();
        } else {
            self.metrics.stand_by();
        }
    }

    async fn pass(&mut self, inputs: &Inputs, changes: &Changes) -> Pass {
        let started = Instant::now();
        self.ledger.update(inputs, changes);
        self.follow_up.begin(inputs, changes, &mut self.ledger, started);
        let mut writes = self.ledger.writes(inputs, &now());
        let due = self.follow_up.before(inputs, &mut self.ledger, &mut writes, started);
        let outcomes = apply::apply(&self.writer, writes).await;
        learn(&mut self.ledger, inputs, &outcomes);
        Pass { is_done: self.follow_up.after(inputs, &outcomes, started), due }
    }
}

/// Of node states the answers count too: a watch shows late what was written, and never what was refused.
fn learn(ledger: &mut Ledger, inputs: &Inputs, outcomes: &[Outcome]) {
    for outcome in outcomes {
        let (Write::NodeState { node, .. } | Write::EditNodeState { node, .. }) = &outcome.write else { continue };
        match &outcome.result {
            Ok(Some(written)) => ledger.wrote(inputs, node, &written.uid, written.generation),
            Err(error) if error.is_stale() => ledger.is_stale(node),
            _ => {}
        }
        if let Some((node, message)) = outcome.refusal() {
            ledger.is_refused(node, &message);
        }
    }
}

/// What a pass came to.
struct Pass {
    /// Every write worked; else it should be tried again.
    is_done: bool,
    /// When statuses that had to wait are due.
    due: Option<Instant>,
}

fn earlier(first: Option<Instant>, second: Option<Instant>) -> Option<Instant> {
    first.into_iter().chain(second).min()
}

/// Kubernetes keeps whole seconds.
fn now() -> Time {
    let now = Timestamp::now();
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}

#[cfg(test)]
mod tests;
