//! The watches, and the loop that reconciles all objects after each change (IO).

use super::observed::{EnginePod, Observed};
use super::pod_health::PodHealth;
use super::update::{Step, Target};
use super::write::{self, Writer};
use super::{
    FINALIZER, NAMESPACE, SETTINGS_ANNOTATION, daemon_set, deletion, exchange, image_check, name_of, status, update,
};
use crate::settings::{pod_hash, restart_hash};
use futures::stream::{SelectAll, select_all};
use futures::{Stream, StreamExt};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt::Debug;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};
use usnet_common::api::client::{self, whole_client};
use usnet_common::api::watch::watch;
use usnet_common::display::FirstFailure;
use usnet_crds::conditions::merge;
use usnet_crds::userspace_engine::validate::validate;
use usnet_crds::{UserspaceEngine, UserspaceEngineStatus};

/// How long changes are collected before they are acted on.
const SETTLE: Duration = Duration::from_millis(100);
/// The interval between attempts after a failure, and while pods have not been ready for long.
const RETRY: Duration = Duration::from_secs(1);

/// Options of `usnet engines`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The name of this pod: the engines' pods get their supervisor from its image.
    #[arg(long, env = "POD_NAME")]
    pub pod_name: String,
}

/// Why the controller of engines ends.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Client(#[from] client::Error),
}

/// A change of what is observed.
type Change = Box<dyn FnOnce(&mut Observed) + Send>;
type Changes = Pin<Box<dyn Stream<Item = watcher::Result<Change>> + Send>>;

/// Reconciles indefinitely.
///
/// # Errors
/// The API server is not configured.
pub async fn run(options: Options) -> Result<std::convert::Infallible, Error> {
    let client = whole_client().await?;
    let mut changes = changes(&client);
    let mut controller = Controller { options, writer: Writer(client), observed: Observed::default() };
    let (mut watches, mut requests) = (FirstFailure::default(), FirstFailure::default());
    let mut due: Option<Instant> = None;
    loop {
        tokio::select! {
            Some(change) = changes.next() => {
                let change = change.map(|change| change(&mut controller.observed));
                watches.log(&change, "cannot watch the objects of engines; retrying");
                due = due.or_else(|| Some(Instant::now() + SETTLE));
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                let result = controller.reconcile_all().await;
                let has_failed = requests.log(&result, "cannot reconcile the engines; retrying");
                let is_unsettled = result.is_ok_and(|all_are_settled| !all_are_settled);
                due = (has_failed || is_unsettled).then(|| Instant::now() + RETRY);
            }
            else => sleep(RETRY).await,
        }
    }
}

fn changes(client: &Client) -> SelectAll<Changes> {
    select_all([
        of(Api::all(client.clone()), |observed, event| observed.engines.observe(event)),
        of(Api::namespaced(client.clone(), NAMESPACE), |observed, event| observed.daemon_sets.observe(event)),
        of(Api::namespaced(client.clone(), NAMESPACE), |observed, event| observed.config_maps.observe(event)),
        of(Api::namespaced(client.clone(), NAMESPACE), |observed, event| observed.pods.observe(event)),
        of(Api::all(client.clone()), |observed, event| observed.nodes.observe(event)),
        of(Api::all(client.clone()), |observed, event| observed.networks.observe(event)),
    ])
}

fn of<K>(api: Api<K>, observe: fn(&mut Observed, Event<K>)) -> Changes
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let change = move |event: watcher::Result<Event<K>>| {
        event.map(|event| Box::new(move |observed: &mut Observed| observe(observed, event)) as Change)
    };
    watch(api, watcher::Config::default()).map(change).boxed()
}

struct Controller {
    options: Options,
    writer: Writer,
    observed: Observed,
}

impl Controller {
    /// All objects: there are a few in a cluster. One that fails does not keep others from their
    /// turn. Returns whether all pods are as they will stay without a change.
    async fn reconcile_all(&self) -> Result<bool, write::Error> {
        if !self.observed.is_complete() {
            return Ok(true);
        }
        let mut result = Ok(true);
        for engine in self.observed.engines.by_name.values() {
            let one = if engine.metadata.deletion_timestamp.is_some() {
                self.delete(engine).await.map(|()| true)
            } else {
                self.reconcile(engine).await
            };
            result = match (result, one) {
                (Ok(all), Ok(one)) => Ok(all && one),
                (Err(first), _) => Err(first),
                (_, Err(error)) => Err(error),
            };
        }
        result
    }

    async fn reconcile(&self, engine: &UserspaceEngine) -> Result<bool, write::Error> {
        let (name, spec) = (engine.name_any(), &engine.spec);
        let (old, generation, now) = (conditions(engine), engine.metadata.generation, now());
        let valid = match validate(&name, spec) {
            Ok(valid) => valid,
            Err(invalid) => {
                let nodes = engine.status.as_ref().map(|status| status.nodes.clone()).unwrap_or_default();
                let status = status::invalid(&invalid.to_string(), nodes, old, generation, &now);
                return self.write_status(engine, status).await.map(|()| true);
            }
        };
        if !engine.finalizers().iter().any(|finalizer| finalizer == FINALIZER) {
            self.writer.set_finalizer(engine, true).await?;
        }
        let (key, observed) = (name_of(&name), &self.observed);
        let config_map = daemon_set::config_map(&name, spec);
        self.writer.apply(&name, config_map, observed.config_maps.by_name.get(&key)).await?;
        let present = observed.daemon_sets.by_name.get(&key);
        // Its pod may be listed a moment later than it runs.
        if let Some(image) = self.observed.image_of(&self.options.pod_name) {
            let desired = daemon_set::daemon_set(&name, spec, &valid, image);
            self.writer.apply(&name, desired, present).await?;
        }

        let pods = observed.pods_of(engine, now.0);
        let selected = present.and_then(selected);
        let target = Target { settings: restart_hash(spec), unchangeable: pod_hash(spec) };
        let update = update::next(&pods, selected.unwrap_or(pods.len()), &target, &spec.update);
        let inputs = status::Inputs { pods: &pods, selected, update: &update, policy: &spec.update, generation };
        self.write_status(engine, status::status(&inputs, old, &now)).await?;
        self.take_steps(engine, &update.steps, &target).await?;
        // Time alone changes what these mean.
        let is_unsettled = |pod: &EnginePod| match pod.health {
            PodHealth::Running => !pod.is_settled,
            PodHealth::Starting => true,
            PodHealth::Failing { .. } => false,
        };
        Ok(!pods.values().any(is_unsettled))
    }

    async fn take_steps(&self, engine: &UserspaceEngine, steps: &[Step], target: &Target) -> Result<(), write::Error> {
        let (name, spec) = (engine.name_any(), &engine.spec);
        for step in steps {
            tracing::info!(engine = name, ?step, "updating a node");
            match step {
                Step::CheckImage { pod } => {
                    let container = image_check::container(&spec.image, &daemon_set::settings(&name, spec));
                    self.writer.add_ephemeral_container(pod, &container).await?;
                }
                Step::ExchangeImage { pod, restarts } => {
                    let annotations = json!({
                        SETTINGS_ANNOTATION: target.settings,
                        exchange::ANNOTATION: exchange::annotation(*restarts, jiff::Timestamp::now()),
                    });
                    self.writer.exchange_image(pod, &spec.image, &annotations).await?;
                }
                Step::ReplacePod { pod } => self.writer.delete_pod(pod).await?,
            }
        }
        Ok(())
    }

    /// Ends the engine once no pod is attached to it.
    async fn delete(&self, engine: &UserspaceEngine) -> Result<(), write::Error> {
        if !engine.finalizers().iter().any(|finalizer| finalizer == FINALIZER) {
            return Ok(());
        }
        let name = engine.name_any();
        let pods = self.observed.pods_of(engine, jiff::Timestamp::now());
        let is_there = self.observed.daemon_sets.by_name.contains_key(&name_of(&name));
        let nodes = pods.keys().cloned().collect();
        // Once its end has begun, there is no way back.
        let attached =
            if is_there { deletion::attached(&self.observed, engine.spec.engine, &nodes) } else { (0, Vec::new()) };
        let old = engine.status.clone().unwrap_or_default();
        let generation = engine.metadata.generation;
        let conditions = merge(&old.conditions, status::deleting(&attached), generation, &now());
        self.write_status(engine, UserspaceEngineStatus { observed_generation: generation, conditions, ..old }).await?;
        if attached.0 > 0 {
            return Ok(());
        }
        self.writer.delete_all(&name).await?;
        if pods.is_empty() { self.writer.set_finalizer(engine, false).await } else { Ok(()) }
    }

    async fn write_status(&self, engine: &UserspaceEngine, status: UserspaceEngineStatus) -> Result<(), write::Error> {
        if engine.status.as_ref() == Some(&status) {
            return Ok(());
        }
        self.writer.write_status(&engine.name_any(), &status).await
    }
}

/// How many nodes should have a pod; none before Kubernetes has looked at the current DaemonSet.
fn selected(daemon_set: &DaemonSet) -> Option<usize> {
    let status = daemon_set.status.as_ref()?;
    let is_current = status.observed_generation == daemon_set.metadata.generation;
    is_current.then(|| usize::try_from(status.desired_number_scheduled).unwrap_or_default())
}

fn conditions(engine: &UserspaceEngine) -> &[k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition] {
    engine.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default()
}

fn now() -> Time {
    Time(jiff::Timestamp::now())
}
