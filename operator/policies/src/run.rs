//! The watches, and the loop that compiles all policies after each change (IO). Telemetry is that
//! of all programs.

use crate::compile::{Compilation, compile};
use crate::conflicts::Conflicts;
use crate::events::{Report, Reported, publish, queue};
use crate::metrics::Metrics;
use crate::observed::Observed;
use crate::pace::{Admitted, Pace};
use crate::plan::{Operation, plan};
use crate::pods::{NetworkPods, classify};
use crate::selectors::{UsedSelectors, used};
use crate::slices::{Slices, pack};
use crate::write::{WriteError, write};
use futures::future::ready;
use futures::stream::{self, SelectAll, select_all};
use futures::{Stream, StreamExt};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, sleep_until};
use usnet_common::api::client::{self, client, whole_client};
use usnet_common::api::watch::watch;
use usnet_common::backoff::Backoff;
use usnet_common::display::FirstFailure;
use usnet_common::telemetry::access::reviewer::{self, Reviewer};
use usnet_common::telemetry::{self, Telemetry};
use usnet_crds::multi_network_policy::selector::PodSelector;
use usnet_crds::policy::pods::SelectorId;
use usnet_crds::{NetworkName, UserspacePodSliceSpec};

/// How long changes are collected before they are acted on: a burst of policies is compiled at
/// once, and a single one is on nodes soon.
const SETTLE: Duration = Duration::from_millis(100);
/// All of a cluster is computed again: after that, nothing is for this many times the duration, so
/// that pods that come and go all the time take no more than a fifth of a core.
const PAUSE: u32 = 4;
/// How many slices are written at once: the API server takes some milliseconds for each. None
/// depends on another one.
const SLICES_AT_ONCE: usize = 8;
/// The first and the longest interval between attempts after a failure.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// Options of `usnet policies`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The name of this pod, which is in its events.
    #[arg(long, env = "POD_NAME", default_value = "usnet-policies")]
    pub pod_name: String,
    #[command(flatten)]
    telemetry: telemetry::ListenOptions,
}

/// Why the controller of policies ends.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Client(#[from] client::Error),
    /// Metrics and probes cannot be served.
    #[error(transparent)]
    Telemetry(#[from] telemetry::Error),
    /// A metric is registered twice, which is a bug in this program.
    #[error("cannot register the metrics")]
    Metrics(#[from] prometheus::Error),
}

/// Pods that are on a node and have not ended.
const PODS: &str = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed";

/// A change of what is observed; returns whether anything is new.
type Change = Box<dyn FnOnce(&mut Observed) -> bool + Send>;
type Changes = Pin<Box<dyn Stream<Item = Change> + Send>>;

/// Compiles policies indefinitely.
///
/// # Errors
/// The API server is not configured, or metrics cannot be served.
pub async fn run(options: Options) -> Result<Infallible, Error> {
    // The annotations of policies may be longer than what other programs use of any.
    let (whole, pruned) = (whole_client().await?, client().await?);
    let telemetry = Arc::new(Telemetry::of_program()?);
    let metrics = Metrics::register(telemetry.registry())?;
    let reviewer: Arc<dyn Reviewer> = Arc::new(reviewer::ApiServer::new(pruned.clone()));
    let (reports, received) = queue();
    tokio::spawn(publish(whole.clone(), options.pod_name, received));
    let changes = changes(&whole, &pruned);
    let controller = Controller::new(pruned, reports, metrics);
    tokio::select! {
        never = follow(controller, changes, &telemetry) => match never {},
        result = Arc::clone(&telemetry).serve(options.telemetry, Some(reviewer)) => Ok(result?),
    }
}

async fn follow(mut controller: Controller, mut changes: SelectAll<Changes>, telemetry: &Telemetry) -> Infallible {
    let (mut requests, mut backoff) = (FirstFailure::default(), Backoff::new(RETRY.0, RETRY.1));
    let (mut due, mut not_before) = (None, Instant::now());
    loop {
        tokio::select! {
            Some(change) = changes.next() => {
                if change(&mut controller.observed) {
                    let missing = controller.observed.missing();
                    if missing.is_empty() {
                        telemetry.set_ready();
                    }
                    telemetry.set_problems(missing.into_iter().map(|kind| format!("waits for a list of {kind}")).collect());
                    due = due.or_else(|| Some(not_before.max(Instant::now() + SETTLE)));
                }
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                let result = controller.reconcile().await;
                not_before = Instant::now() + controller.computed * PAUSE;
                let has_failed = requests.log(&result, "cannot write what nodes enforce of policies; retrying");
                if !has_failed {
                    backoff.reset();
                }
                let next = if has_failed { Some(Instant::now() + backoff.wait()) } else { result.unwrap_or_default() };
                due = next.map(|next| not_before.max(next));
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
        of(Api::all(pruned.clone()), Observed::slice),
        of(Api::all(pruned.clone()), Observed::node),
        of(Api::all(pruned.clone()), Observed::namespace),
        selected(Api::all(pruned.clone()), watcher::Config::default().fields(PODS), Observed::pod),
    ])
}

fn of<K>(api: Api<K>, observe: fn(&mut Observed, Event<K>) -> bool) -> Changes
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    selected(api, watcher::Config::default(), observe)
}

fn selected<K>(api: Api<K>, which: watcher::Config, observe: fn(&mut Observed, Event<K>) -> bool) -> Changes
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
    watch(api, which).map(change).filter_map(ready).boxed()
}

pub(crate) struct Controller {
    client: Client,
    reports: Sender<Report>,
    pub(crate) observed: Observed,
    reported: Reported,
    conflicts: Conflicts,
    pace: Pace,
    metrics: Metrics,
    /// How long the last computation took, without requests.
    computed: Duration,
    /// The selectors of all policies that nodes may have.
    selectors: BTreeMap<SelectorId, PodSelector>,
}

impl Controller {
    pub(crate) fn new(client: Client, reports: Sender<Report>, metrics: Metrics) -> Self {
        Self {
            client,
            reports,
            observed: Observed::default(),
            reported: Reported::default(),
            conflicts: Conflicts::default(),
            pace: Pace::default(),
            metrics,
            computed: Duration::ZERO,
            selectors: BTreeMap::new(),
        }
    }

    /// Compiles all policies, and writes what differs. One that fails does not keep others from
    /// their turn, unless the API server is away. Returns the first failure, or when there may be
    /// more to write although nothing changes.
    pub(crate) async fn reconcile(&mut self) -> Result<Option<Instant>, WriteError> {
        if !self.observed.is_complete() {
            return Ok(None);
        }
        let began = Instant::now();
        let compilation = compile(&self.observed);
        let reports = self.reported.new_of(&self.observed.policies.objects, &compilation.problems);
        self.report(reports);
        let slices = self.slices(&compilation);
        let Observed { slices: stored_slices, compiled: stored, .. } = &self.observed;
        let operations = plan((&stored_slices.objects, &slices), (&stored.objects, &compilation.compiled));
        let pods = slices.values().map(UserspacePodSliceSpec::pods_count).sum();
        let counts = [compilation.compiled.len(), pods, slices.len()];
        let Admitted { operations, next } = self.pace.admit(operations, &stored_slices.objects, Instant::now());
        self.computed = began.elapsed();
        self.metrics.evaluated(self.computed, counts);
        let (slices, policies): (Vec<_>, Vec<_>) = operations.into_iter().partition(|it| it.slice().is_some());
        // What had to wait for these writes follows.
        let after_these = (!slices.is_empty() || !policies.is_empty()).then(|| Instant::now() + SETTLE);
        let of_slices = self.write_all(slices, SLICES_AT_ONCE).await?;
        let of_policies = self.write_all(policies, 1).await?;
        of_slices.and(of_policies).map(|()| next.into_iter().chain(after_these).min())
    }

    /// Writes so many at once. The outer failure is that of an API server that is away, the inner
    /// one the first that it refused.
    async fn write_all(
        &mut self,
        operations: Vec<Operation>,
        at_once: usize,
    ) -> Result<Result<(), WriteError>, WriteError> {
        let client = self.client.clone();
        let with_stored = |operation| (self.is_stored(&operation), operation);
        let operations: Vec<(bool, Operation)> = operations.into_iter().map(with_stored).collect();
        let requests = stream::iter(operations).map(|(is_stored, operation)| {
            let client = client.clone();
            async move {
                let result = write(&client, &operation, is_stored).await;
                (operation, result)
            }
        });
        let (mut requests, mut refused) = (requests.buffered(at_once), Ok(()));
        while let Some((operation, result)) = requests.next().await {
            self.metrics.wrote(&operation, result.is_ok());
            match result {
                Ok(()) => self.written(operation),
                Err(error) if error.is_answer() => refused = refused.and(Err(error)),
                Err(error) => return Err(error),
            }
        }
        Ok(refused)
    }

    fn report(&self, reports: Vec<Report>) {
        for report in reports {
            if self.reports.try_send(report).is_err() {
                tracing::debug!("an event was dropped");
            }
        }
    }

    /// The pods that nodes should know. Selectors of policies that nodes may still have count too:
    /// a pod is closed of which it is not known whether such a policy is for it.
    pub(crate) fn slices(&mut self, compilation: &Compilation) -> Slices {
        let stored = self.observed.compiled.objects.values().flatten();
        let used = used(compilation.compiled.values().chain(stored));
        let mut selectors = std::mem::take(&mut self.selectors);
        selectors.extend(compilation.selectors.clone());
        let ids: BTreeSet<SelectorId> = used.values().flat_map(UsedSelectors::all).collect();
        selectors.retain(|id, _| ids.contains(id));
        let pods = classify(&self.observed, &used, &selectors);
        self.selectors = selectors;
        let conflicts = self.conflicts.new_of(&self.observed, &pods);
        self.report(conflicts);
        let mut stored: BTreeMap<&NetworkName, Slices> = BTreeMap::new();
        for (name, slice) in &self.observed.slices.objects {
            if let Some(slice) = slice {
                stored.entry(&slice.network).or_default().insert(name.clone(), slice.clone());
            }
        }
        let packed = |(network, pods): (&NetworkName, &NetworkPods)| {
            pack(network, &stored.remove(network).unwrap_or_default(), pods)
        };
        pods.iter().flat_map(packed).collect()
    }

    /// Whether the object is there, as far as is known.
    fn is_stored(&self, operation: &Operation) -> bool {
        let Observed { compiled, slices, .. } = &self.observed;
        match operation {
            Operation::ApplyPolicy(name, _) | Operation::DeletePolicy(name) => compiled.objects.contains_key(name),
            Operation::ApplySlice(name, _) | Operation::DeleteSlice(name) => slices.objects.contains_key(name),
        }
    }

    /// The watch says the same later.
    fn written(&mut self, operation: Operation) {
        self.pace.written(&operation, Instant::now());
        let Observed { compiled, slices, .. } = &mut self.observed;
        match operation {
            Operation::ApplyPolicy(name, spec) => drop(compiled.objects.insert(name, Some(spec))),
            Operation::DeletePolicy(name) => drop(compiled.objects.remove(&name)),
            Operation::ApplySlice(name, spec) => drop(slices.objects.insert(name, Some(spec))),
            Operation::DeleteSlice(name) => drop(slices.objects.remove(&name)),
        }
    }
}
