//! The process of `usnet agent`. Its tasks run concurrently on one thread, joined by channels that
//! keep only the latest value: a slow reader skips what is outdated and delays no other task.

pub(super) mod error;
pub(super) mod manifests;
pub(super) mod node_agent;
mod only_agent;

use self::error::Error;
use self::manifests::Manifests;
use self::node_agent::Agent;
use super::model::file_networks::FileNetworks;
use super::model::input::Input;
use super::model::report::Report;
use super::reconcile::agent_state::AgentState;
use super::report::metrics::Metrics;
use super::report::{state_writer, status_writer};
use super::selection::{spec_builder, unselected};
use super::{attachments, claims, cni_configurations, pod_annotations, watch};
use kube::Client;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::watch::{Receiver, Sender, channel};
use tracing::Instrument;
use usnet_common::api::client;
use usnet_common::telemetry::access::reviewer::{self, Reviewer};
use usnet_common::telemetry::{self, Telemetry, Unserved};
use usnet_crds::legacy::plain_path;
use usnet_dataplane::definition_ipam::DefinitionIpam;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::shared_dirs::SharedDirs;
use usnet_node::ports::scrape::PortScrape;

/// Options of `usnet agent`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The name of this node in the cluster.
    #[arg(long, env = "NODE_NAME")]
    pub node_name: String,
    /// Read the networks from the YAML files in this folder instead of the API server.
    #[arg(long, env = "USNET_MANIFESTS", value_name = "FOLDER")]
    pub manifests: Option<PathBuf>,
    /// The memif socket ids of VPP that usnet may use; other clients of VPP must not use them.
    #[arg(long, env = "USNET_MEMIF_SOCKET_IDS", value_name = "FIRST-LAST", default_value_t)]
    pub memif_socket_ids: MemifSocketIds,
    /// Folders of the node below which NADs of the Userspace CNI (Intel) may choose a `sharedDir`.
    /// They must exist and be writable by root only.
    #[arg(long = "shared-dir-root", env = "USNET_SHARED_DIR_ROOTS", value_name = "FOLDER", value_delimiter = ':', value_parser = folder_of_node)]
    pub shared_dir_roots: Vec<PathBuf>,
    /// The IPAM plugins that `ipam` of a NetworkAttachmentDefinition may name. `spec.ipam` of a
    /// UserspaceNetwork may name any.
    #[arg(long, env = "USNET_DEFINITION_IPAM_PLUGINS", value_name = "PLUGIN", value_delimiter = ',', default_values_t = DefinitionIpam::PLUGINS.map(str::to_owned))]
    pub definition_ipam_plugins: Vec<String>,
    /// Additional keys that `ipam` of a NetworkAttachmentDefinition may contain besides addresses,
    /// routes and DNS, for example `dataDir`. The plugins run as root, and such keys may name any
    /// file of the node.
    #[arg(long, env = "USNET_DEFINITION_IPAM_KEYS", value_name = "KEY", value_delimiter = ',')]
    pub definition_ipam_keys: Vec<String>,
    /// Where metrics and health are served.
    #[command(flatten)]
    pub telemetry: telemetry::ListenOptions,
    /// The loopback address at which to serve the traffic of pods as /metrics/ports, such as
    /// 127.0.0.1:8083. It is not served by default.
    #[arg(long, env = "USNET_LISTEN_PORT_METRICS", value_name = "ADDRESS:PORT", value_parser = telemetry::loopback)]
    pub listen_port_metrics: Option<SocketAddr>,
}

impl Options {
    /// Writes the files that tell the plugin what NetworkAttachmentDefinitions may request.
    fn publish_limits(&self, paths: &NodePaths) -> Result<(), Error> {
        SharedDirs::allow(paths, self.shared_dir_roots.clone())?;
        let definition_ipam = DefinitionIpam {
            plugins: self.definition_ipam_plugins.iter().cloned().collect(),
            keys: self.definition_ipam_keys.iter().cloned().collect(),
            ..DefinitionIpam::default()
        };
        Ok(definition_ipam.write(paths)?)
    }
}

fn folder_of_node(text: &str) -> Result<PathBuf, String> {
    plain_path(text).ok_or_else(|| "must be an absolute path without \"..\"".to_owned())
}

/// Runs the agent until its end is requested. `follow` follows a folder of manifests until the
/// agent ends.
///
/// # Errors
/// The agent cannot start, or only its restart helps.
pub async fn run(
    options: Options,
    follow: impl AsyncFnOnce(Manifests),
    requested: impl Future<Output = ()>,
) -> Result<(), Error> {
    let span = tracing::info_span!("agent", node = options.node_name);
    let with_api_server = options.manifests.is_none().then(|| options.node_name.clone());
    let paths = NodePaths::from_environment();
    async {
        tokio::select! {
            result = run_at(&paths, options, follow) => return result,
            () = requested => {}
        }
        // The agent was dropped, and publishes nothing any more.
        if let Some(node) = with_api_server {
            claims::withdraw(&paths, &node).await;
        }
        Ok(())
    }
    .instrument(span)
    .await
}

/// Runs the agent of the node that has its files at `paths`, as [`run`] does, until it is dropped.
pub async fn run_at(paths: &NodePaths, options: Options, follow: impl AsyncFnOnce(Manifests)) -> Result<(), Error> {
    let telemetry = Arc::new(Telemetry::of_program()?);
    // Telemetry is served also while the agent waits for the lock: a container that does not answer
    // its probes is killed.
    telemetry.set_ports(PortScrape::new(options.node_name.clone(), paths.clone()));
    let listen = telemetry::ListenOptions { listen_ports: options.listen_port_metrics, ..options.telemetry.clone() };
    let source = match &options.manifests {
        Some(folder) => Source::Manifests { folder: folder.clone(), follow },
        None => Source::ApiServer(client::client().await?),
    };
    let reviewer = source.client().map(|client| Arc::new(reviewer::ApiServer::new(client)) as Arc<dyn Reviewer>);
    let serve = async { Ok(Arc::clone(&telemetry).serve(listen, reviewer).await?) };
    let work = async {
        let _lock = only_agent::wait(paths, &telemetry).await?;
        work(paths, options.clone(), source, &telemetry).await
    };
    tokio::try_join!(serve, work).map(drop)
}

/// The source of the agent's networks.
enum Source<Follow> {
    Manifests { folder: PathBuf, follow: Follow },
    ApiServer(Client),
}

impl<Follow> Source<Follow> {
    fn client(&self) -> Option<Client> {
        match self {
            Self::Manifests { .. } => None,
            Self::ApiServer(client) => Some(client.clone()),
        }
    }
}

/// Does the work of the node's only agent, with manifests or with an API server.
async fn work(
    paths: &NodePaths,
    options: Options,
    source: Source<impl AsyncFnOnce(Manifests)>,
    telemetry: &Telemetry,
) -> Result<Infallible, Error> {
    options.publish_limits(paths)?;
    let (inputs, inputs_of_agent) = channel(None);
    let (specs, specs_in_agent) = channel(None);
    let (problems, problems_in_writer) = channel(None);
    let (reports, reports_of_agent) = channel(None);
    let agent = Agent::new(paths, options.memif_socket_ids, specs_in_agent, reports)?;
    let metrics = agent.metrics();
    metrics.register(telemetry.registry())?;
    let state = state_writer::Sources {
        node: options.node_name.clone(),
        manifests: options.manifests.clone(),
        problems: problems_in_writer,
        reports: reports_of_agent.clone(),
    };
    let (found, file_networks) = channel(None);
    let follow_configurations = follow_configurations(configurations(paths, &source), agent.state(), found);
    let spec_sources =
        spec_builder::Sources { inputs: inputs_of_agent.clone(), reports: reports_of_agent.clone(), file_networks };
    let (persisted_spec, unserved) = (agent.persisted_spec(), report_unserved(telemetry.unserved(), agent.state()));
    let (owners, claims_inputs) = agent.claims_inputs();
    let policies = agent.policy_channels();
    let background = async {
        tokio::join!(
            unselected::publish(paths.clone(), inputs_of_agent, reports_of_agent.clone()),
            spec_builder::build(persisted_spec.clone(), spec_sources, specs),
            state_writer::write(paths.clone(), state),
            report_readiness(reports_of_agent.clone(), telemetry),
            unserved,
            follow_configurations,
        );
        Ok(())
    };
    let sync = async {
        match source {
            Source::Manifests { folder, follow } => {
                let (node, held, reports) = (options.node_name, persisted_spec.clone(), reports_of_agent.clone());
                follow(Manifests { folder, node, held, inputs, reports, problems }).await;
            }
            Source::ApiServer(client) => {
                let (node, reports) = (options.node_name, reports_of_agent.clone());
                let channels = ApiServerChannels { inputs, owners, policies, reports, claims: claims_inputs };
                run_with_api_server(paths, client, node, channels, metrics).await?;
            }
        }
        Ok(())
    };
    tokio::try_join!(agent.run(), sync, background).map(|(never, ..)| never)
}

/// The channels between the agent and the tasks that need the API server.
struct ApiServerChannels {
    inputs: Sender<Option<Input>>,
    owners: Sender<watch::Owners>,
    policies: watch::PolicyChannels,
    reports: Receiver<Option<Report>>,
    claims: claims::Inputs,
}

/// Runs the tasks that need the API server, until the agent ends.
async fn run_with_api_server(
    paths: &NodePaths,
    client: Client,
    node: String,
    channels: ApiServerChannels,
    metrics: Metrics,
) -> Result<(), Error> {
    let ApiServerChannels { inputs, owners, policies, reports, claims } = channels;
    let journal = Journal::open(paths)?;
    let (requests, requests_of_node) = channel(None);
    let (attached, attachments) = channel(None);
    let (statuses, present) = channel(None);
    let subscribers = watch::Subscribers { inputs, statuses, attachments: requests, owners, policies };
    let sources = status_writer::Sources { reports, attachments, present };
    tokio::join!(
        claims::run(client.clone(), node.clone(), claims),
        watch::follow(client.clone(), node.clone(), subscribers),
        status_writer::write(client.clone(), node, sources, metrics),
        attachments::run(paths, journal.clone(), requests_of_node, attached),
        pod_annotations::run(client, paths, journal),
    );
    Ok(())
}

/// The folders of CNI configurations. A node without an API server has these in its manifests.
fn configurations<Follow>(paths: &NodePaths, source: &Source<Follow>) -> Vec<PathBuf> {
    source.client().map_or_else(Vec::new, |_| paths.cni_configurations.clone())
}

/// Follows the networks that files in these folders define.
async fn follow_configurations(
    folders: Vec<PathBuf>,
    agent_state: Rc<AgentState>,
    networks: Sender<Option<Arc<FileNetworks>>>,
) {
    let report = |problem| agent_state.node_report.update(|report| report.set_configuration_problem(problem));
    cni_configurations::follow(&folders, networks, report).await;
}

/// Reports in the status of the node what is not served, such as metrics whose address is in use: a
/// scraper only sees that they are missing.
async fn report_unserved(mut unserved: Receiver<Unserved>, agent_state: Rc<AgentState>) {
    loop {
        let problems: Vec<String> = unserved.borrow_and_update().values().cloned().collect();
        let problem = (!problems.is_empty()).then(|| problems.join("; "));
        agent_state.node_report.update(|report| report.set_unserved(problem));
        if unserved.changed().await.is_err() {
            return;
        }
    }
}

/// Sets the agent ready once it has observed its engines or has timed out waiting for them. An
/// engine that is down does not make it unready, because a rollout of the agent must not stop at
/// such a node; `/readyz` names it.
async fn report_readiness(mut reports: Receiver<Option<Report>>, telemetry: &Telemetry) {
    while reports.wait_for(Option::is_some).await.is_ok() {
        let problems = reports.borrow_and_update().as_ref().map(Report::problems).unwrap_or_default();
        telemetry.set_problems(problems);
        telemetry.set_ready();
        if reports.changed().await.is_err() {
            return;
        }
    }
}
