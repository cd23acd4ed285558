//! The watches, and the loop that compiles all policies after each change (IO).

use crate::compile::compile;
use crate::events::{Report, Reported, publish, queue};
use crate::observed::Observed;
use crate::plan::{Operation, plan};
use crate::write::{WriteError, write};
use futures::future::ready;
use futures::stream::{SelectAll, select_all};
use futures::{Stream, StreamExt};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, sleep_until};
use usnet_common::api::client::{self, client, whole_client};
use usnet_common::api::watch::watch;
use usnet_common::backoff::Backoff;
use usnet_common::display::FirstFailure;

/// How long changes are collected before they are acted on: a burst of policies is compiled at
/// once, and a single one is on nodes soon.
const SETTLE: Duration = Duration::from_millis(100);
/// The first and the longest interval between attempts after a failure.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// Options of `usnet policies`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The name of this pod, which is in its events.
    #[arg(long, env = "POD_NAME", default_value = "usnet-policies")]
    pub pod_name: String,
}

/// Why the controller of policies ends.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Client(#[from] client::Error),
}

/// A change of what is observed.
type Change = Box<dyn FnOnce(&mut Observed) + Send>;
type Changes = Pin<Box<dyn Stream<Item = Change> + Send>>;

/// Compiles policies indefinitely.
///
/// # Errors
/// The API server is not configured.
pub async fn run(options: Options) -> Result<std::convert::Infallible, Error> {
    // The annotations of policies may be longer than what other programs use of any.
    let (whole, pruned) = (whole_client().await?, client().await?);
    let (reports, received) = queue();
    tokio::spawn(publish(whole.clone(), options.pod_name, received));
    let mut changes = changes(&whole, &pruned);
    let mut controller = Controller::new(pruned, reports);
    let (mut requests, mut backoff) = (FirstFailure::default(), Backoff::new(RETRY.0, RETRY.1));
    let mut due: Option<Instant> = None;
    loop {
        tokio::select! {
            Some(change) = changes.next() => {
                change(&mut controller.observed);
                due = due.or_else(|| Some(Instant::now() + SETTLE));
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                let result = controller.reconcile().await;
                let has_failed = requests.log(&result, "cannot write compiled policies; retrying");
                if !has_failed {
                    backoff.reset();
                }
                due = has_failed.then(|| Instant::now() + backoff.wait());
            }
            else => sleep(RETRY.1).await,
        }
    }
}

fn changes(whole: &Client, pruned: &Client) -> SelectAll<Changes> {
    select_all([
        of(Api::all(whole.clone()), Observed::policy),
        of(Api::all(pruned.clone()), Observed::network),
        of(Api::all(pruned.clone()), Observed::definition),
        of(Api::all(pruned.clone()), Observed::compiled),
    ])
}

fn of<K>(api: Api<K>, observe: fn(&mut Observed, Event<K>)) -> Changes
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    // The CRDs of policies and of definitions come from others, and may be installed later.
    let text = format!(
        "cannot watch {}, without which no policy is compiled: are its CRD and config/components/policies installed? retrying",
        K::plural(&())
    );
    let mut failures = FirstFailure::default();
    let change = move |event: watcher::Result<Event<K>>| {
        failures.log(&event, &text);
        let event = event.ok()?;
        Some(Box::new(move |observed: &mut Observed| observe(observed, event)) as Change)
    };
    watch(api, watcher::Config::default()).map(change).filter_map(ready).boxed()
}

pub(crate) struct Controller {
    client: Client,
    reports: Sender<Report>,
    pub(crate) observed: Observed,
    reported: Reported,
}

impl Controller {
    pub(crate) fn new(client: Client, reports: Sender<Report>) -> Self {
        Self { client, reports, observed: Observed::default(), reported: Reported::default() }
    }

    /// Compiles all policies, and writes what differs. One that fails does not keep others from
    /// their turn, unless the API server is away. Returns the first failure.
    pub(crate) async fn reconcile(&mut self) -> Result<(), WriteError> {
        if !self.observed.is_complete() {
            return Ok(());
        }
        let compilation = compile(&self.observed);
        for report in self.reported.new_of(&self.observed.policies.objects, &compilation.problems) {
            if self.reports.try_send(report).is_err() {
                tracing::debug!("an event was dropped");
            }
        }
        let mut result = Ok(());
        for operation in plan(&self.observed.compiled.objects, &compilation.compiled) {
            match write(&self.client, &operation).await {
                Ok(()) => self.written(operation),
                Err(error) if error.is_answer() => result = result.and(Err(error)),
                Err(error) => return Err(error),
            }
        }
        result
    }

    /// The watch says the same later.
    fn written(&mut self, operation: Operation) {
        let objects = &mut self.observed.compiled.objects;
        match operation {
            Operation::Apply(name, spec) => drop(objects.insert(name, Some(spec))),
            Operation::Delete(name) => drop(objects.remove(&name)),
        }
    }
}
