//! `kubectl usnet test`: whether pods can be attached and exchange frames, on each node and engine.
//! It is the only command that changes something, in namespaces and networks of its own.
//!
//! - [`manifests`]: the objects that are created; [`image`]: the image of their pods; [`report`]:
//!   the report. Pure;
//! - [`objects`] (IO): creates and deletes objects; [`steps`] (IO): the checks;
//! - [`activities`]: what the user is told meanwhile.

mod activities;
mod image;
mod manifests;
mod objects;
pub(crate) mod report;
mod steps;

use crate::api::{Cluster, read_usnet};
use crate::commands::status;
use crate::error::{Error, PROBLEM, SUCCESS};
use crate::model::{Objects, Snapshot};
use crate::output::{Format, Output, render, waiting};
use activities::Activities;
use futures::stream::{self, StreamExt};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::jiff::Timestamp;
use manifests::Names;
use objects::{TestScope, create, remove};
use report::{Check, Report, Subject};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use steps::Step;
use usnet_crds::conditions::{Status, engine_connected, find, reason};
use usnet_crds::{EngineKind, UserspaceNetwork};

/// The minimum time limit of the removal: Kubernetes may need more than a minute to delete a
/// namespace.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(120);

/// Options of `kubectl usnet test`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Test only this engine: OVS or VPP.
    #[arg(long, value_name = "ENGINE", value_parser = engine)]
    pub engine: Option<EngineKind>,
    /// Test only this node. May be repeated.
    #[arg(long, value_name = "NAME")]
    pub node: Vec<String>,
    /// Test this existing network, instead of creating one for each engine.
    #[arg(long, value_name = "NAME")]
    pub network: Option<String>,
    /// Test only so many nodes of each engine, other ones each time.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    pub sample: Option<u16>,
    /// How many nodes are tested at a time.
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub parallel: u16,
    /// The image of the test program, which the nodes must have or be able to pull. Default: that
    /// of the release, beside the image of the agents.
    #[arg(long)]
    pub image: Option<String>,
    /// The time limit of each step, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub step_timeout: u64,
    /// Only remove what interrupted tests have left.
    #[arg(long)]
    pub clean: bool,
}

fn engine(text: &str) -> Result<EngineKind, String> {
    let found = EngineKind::ALL.into_iter().find(|engine| api_name(*engine).eq_ignore_ascii_case(text));
    found.ok_or_else(|| "the engines are OVS and VPP".to_owned())
}

fn api_name(engine: EngineKind) -> String {
    serde_json::to_value(engine).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Runs the command. The objects that it created are removed even after an interrupt.
pub(crate) async fn run(cluster: &Cluster, options: &Options, format: Format) -> Result<Output, Error> {
    let start = Instant::now();
    let limit = Duration::from_secs(options.step_timeout).max(REMOVAL_TIMEOUT);
    let (mut checks, mut not_sampled) = (Vec::new(), 0);
    if options.clean {
        let removed = remove(cluster, &TestScope::All, limit).await;
        let removed = removed.map(|()| "all objects of tests are removed".to_owned());
        checks.push(Check::of_cluster(Subject::Clean, removed));
    } else {
        let snapshot = read_usnet(cluster).await?;
        checks.push(Check::of_cluster(Subject::Installation, installation(&snapshot)));
        let names = Names { id: format!("{:x}", Timestamp::now().as_millisecond()) };
        let activities = Activities::default();
        let mut test = Test { cluster, snapshot: &snapshot, options, activities: &activities, checks, not_sampled };
        tokio::select! {
            () = test.run(&names) => {}
            _ = tokio::signal::ctrl_c() => {}
            never = activities.tell() => match never {},
        }
        Test { checks, not_sampled, .. } = test;
        let cleaned = waiting("the removal of what the test created", clean(cluster, names, limit)).await;
        checks.push(Check::of_cluster(Subject::Clean, cleaned));
    }
    let report = Report { not_sampled, ..Report::new(checks, start.elapsed().as_secs()) };
    let exit_status = if report.failed == 0 { SUCCESS } else { PROBLEM };
    Ok(Output { text: render(&report, format, report::text)?, exit_status })
}

/// Removes the objects of the test. A network is gone only after agents have removed it, so its
/// absence shows that no port and no record of it is left.
async fn clean(cluster: &Cluster, names: Names, limit: Duration) -> Result<String, String> {
    remove(cluster, &TestScope::One(names.id), limit).await?;
    remove(cluster, &TestScope::Abandoned, limit).await?;
    Ok("networks, pods and namespaces of the test are removed from all nodes".to_owned())
}

fn installation(snapshot: &Snapshot) -> Result<String, String> {
    let report = status::report::report(snapshot);
    let count = |name: &str, count: &status::report::Count| format!("{} of {} {name}", count.ready, count.total);
    let programs = format!("{}, {}", count("controllers", &report.controllers), count("agents", &report.agents));
    let is_complete = |count: &status::report::Count| count.ready == count.total && count.total > 0;
    match report.leader {
        _ if !snapshot.has_read(Objects::UsnetPods) => Ok("the pods of usnet cannot be read".to_owned()),
        None => Err(format!("no controller is the leader; {programs}")),
        Some(_) if !is_complete(&report.controllers) || !is_complete(&report.agents) => Err(programs),
        Some(leader) => Ok(format!("{programs}, leader {leader}")),
    }
}

/// Returns the nodes on which an engine is tested, each with its known problem.
fn nodes(snapshot: &Snapshot, engine: EngineKind, options: &Options) -> BTreeMap<String, Option<String>> {
    let mut nodes = BTreeMap::new();
    for (node, status) in &snapshot.reports {
        if !options.node.is_empty() && !options.node.contains(node) {
            continue;
        }
        let agent = snapshot.agent(node).is_some_and(|agent| agent.is_ready) || !snapshot.has_read(Objects::UsnetPods);
        let down = find(&status.conditions, engine_connected(engine)).filter(|it| it.status == Status::False.as_str());
        let problem = match down {
            Some(down) if down.reason == reason::NEVER_SEEN && options.engine.is_none() => continue,
            Some(down) => Some(format!("{}: {}", down.reason, down.message)),
            None if !status.engines.iter().any(|report| report.engine == engine) && options.engine.is_none() => {
                continue;
            }
            None if !agent => Some("its agent is not ready, so networks are not created there".to_owned()),
            None => None,
        };
        nodes.insert(node.clone(), problem);
    }
    nodes
}

/// A running test.
struct Test<'a> {
    cluster: &'a Cluster,
    snapshot: &'a Snapshot,
    options: &'a Options,
    activities: &'a Activities,
    /// What was checked so far.
    checks: Vec<Check>,
    /// The number of nodes that are not in the sample, of each engine.
    not_sampled: usize,
}

impl Test<'_> {
    async fn run(&mut self, names: &Names) {
        let Self { cluster, snapshot, options, activities, .. } = *self;
        let limit = Duration::from_secs(options.step_timeout);
        let image = options.image.clone().unwrap_or_else(|| image::default_image(snapshot));
        let step = Step { cluster, names, image: &image, limit, activities };
        let prepared = prepare(cluster, snapshot, options, names).await;
        let engines = match prepared {
            Ok(engines) => engines,
            Err(problem) => return self.checks.push(Check::of_cluster(Subject::Installation, Err(problem))),
        };
        let mut isolated = false;
        for (engine, network) in engines {
            let all: Vec<_> = nodes(snapshot, engine, options).into_iter().collect();
            let nodes = sample(&all, options.sample.map(usize::from), start_of_sample());
            self.not_sampled += all.len() - nodes.len();
            let passed = self.engine(&step, engine, &network, nodes).await;
            if let Some(node) = passed.filter(|_| !isolated) {
                isolated = true;
                activities.begin(&node, "a pod is refused");
                let refused = step.isolation(&network, &node).await;
                activities.end(&node);
                self.checks.push(Check::of_cluster(Subject::Isolation, refused));
            }
        }
        if self.checks.iter().all(|check| check.check != Subject::PodToPod) {
            let problem = "no node has a requested engine".to_owned();
            self.checks.push(Check::of_cluster(Subject::PodToPod, Err(problem)));
        }
    }

    /// Tests an engine on these nodes, some at a time. Returns a node on which the test passed.
    async fn engine(
        &mut self,
        step: &Step<'_>,
        engine: EngineKind,
        network: &str,
        nodes: Vec<(String, Option<String>)>,
    ) -> Option<String> {
        if nodes.is_empty() {
            return None;
        }
        let name = api_name(engine);
        step.activities.begin(&name, "the network is ready");
        let failures = create_network(step, &name, network, self.options).await;
        step.activities.end(&name);
        let test = async |(node, problem): (String, Option<String>)| {
            let known = failures.as_ref().map_or_else(
                |problem| Some(problem.clone()),
                |all| all.iter().find(|(failed, _)| *failed == node).map(|(_, problem)| problem.clone()),
            );
            let result = match problem.or(known) {
                Some(problem) => Err(problem),
                None => step.pod_to_pod(network, &name, &node).await,
            };
            (node, result)
        };
        let mut results = stream::iter(nodes).map(test).buffered(self.options.parallel.into());
        let mut passed = None;
        while let Some((node, result)) = results.next().await {
            if result.is_ok() && passed.is_none() {
                passed = Some(node.clone());
            }
            self.checks.push(Check::on_node(Subject::PodToPod, &name, &node, result));
        }
        passed
    }
}

/// Returns a number that differs from test to test.
fn start_of_sample() -> usize {
    usize::try_from(Timestamp::now().as_millisecond()).unwrap_or_default()
}

/// Returns so many elements in their order, at equal distances; `start` decides with which they
/// begin.
fn sample<T: Clone>(all: &[T], number: Option<usize>, start: usize) -> Vec<T> {
    let number = number.unwrap_or(all.len()).min(all.len());
    let mut positions: Vec<usize> = (0..number).map(|index| (start + index * all.len() / number) % all.len()).collect();
    positions.sort_unstable();
    positions.into_iter().filter_map(|position| all.get(position).cloned()).collect()
}

/// Creates the namespaces, and returns the engines to test, each with its network.
async fn prepare(
    cluster: &Cluster,
    snapshot: &Snapshot,
    options: &Options,
    names: &Names,
) -> Result<Vec<(EngineKind, String)>, String> {
    let (engines, labels) = match &options.network {
        None => {
            let engines =
                EngineKind::ALL.into_iter().filter(|engine| options.engine.is_none_or(|only| only == *engine));
            (engines.map(|engine| (engine, names.network(&api_name(engine)))).collect(), names.selector())
        }
        Some(name) => {
            let network =
                snapshot.cache.networks.get(name).ok_or_else(|| format!("there is no UserspaceNetwork {name}"))?;
            let spec = network.spec.as_ref().map_err(|_| format!("network {name} is rejected"))?;
            let networks = kube::Api::<UserspaceNetwork>::all(cluster.client.clone());
            let object = networks.get(name).await.map_err(|error| error.to_string())?;
            let labels = object.spec.namespace_selector.match_labels.unwrap_or_default();
            let labels = labels.into_iter().map(|(key, value)| (key, value.into())).collect();
            (vec![(spec.engine, name.clone())], labels)
        }
    };
    create::<Namespace>(cluster, names.namespace_object(&names.namespace(), &labels)).await?;
    create::<Namespace>(cluster, names.namespace_object(&names.other_namespace(), &serde_json::Map::new())).await?;
    Ok(engines)
}

/// Creates the network of an engine unless the user named one, and returns the problems of nodes.
async fn create_network(
    step: &Step<'_>,
    engine: &str,
    network: &str,
    options: &Options,
) -> Result<Vec<(String, String)>, String> {
    if options.network.is_none() {
        create::<UserspaceNetwork>(step.cluster, step.names.network_object(engine)).await?;
    }
    step.network(network).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_over_all_nodes_and_differs_from_test_to_test() {
        let all: Vec<u32> = (0..10).collect();
        assert_eq!(sample(&all, Some(2), 0), [0, 5]);
        assert_eq!(sample(&all, Some(2), 107), [2, 7]);
        assert_eq!(sample(&all, Some(3), 4), [0, 4, 7]);
        assert_eq!(sample(&all, None, 3), all);
        assert_eq!(sample(&all, Some(99), 3), all);
        assert_eq!(sample(&[0; 0], Some(1), 3), [0; 0]);
    }
}
