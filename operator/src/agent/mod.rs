//! The agent: selects the networks of one node from all compiled networks, programs them into the
//! node's engines, and keeps them programmed.
//!
//! [`watch`] and [`status`] are the two sides towards the API server, beside [`pod_annotations`]
//! for pods that expect the annotations of the Userspace CNI (Intel); without an API server,
//! [`crate::standalone`] reads manifests. Both give an [`input`], from which [`spec_builder`] and
//! [`selection`] compute the node's desired state; [`node_status`] is its actual state, which
//! [`state_writer`] also writes to a file on the node. Between them there is a [`reconciler`] for
//! each engine: [`engine_watcher`] is the side towards the engine, [`wake`] waits for changes, and
//! [`reconcile`] does the work: [`observe`], [`plan`], [`apply`], [`verify`], [`report`]. The
//! results of all engines are merged in [`node_report`]. Beside them [`device_plugin`] offers
//! networks to kubelet as resources. None of that needs an API server: it takes specs from one
//! channel and puts reports into another.

mod agent_state;
mod api_backoff;
mod apply;
mod attachment_locks;
pub mod device_plugin;
mod engine_watcher;
mod folder_watch;
mod history_recorder;
pub mod input;
mod journal_snapshot;
mod list_watch;
pub mod metrics;
mod node_report;
pub mod node_status;
mod observe;
mod persisted_state;
mod plan;
mod pod_annotations;
mod publish;
mod reason;
mod reconcile;
mod reconciler;
mod replay;
mod report;
pub mod selection;
pub mod spec;
pub mod spec_builder;
mod spec_store;
mod state_writer;
mod status;
#[cfg(test)]
pub(crate) mod testing;
mod transition_log;
mod verify;
mod vswitchd_liveness;
mod wake;
mod watch;

use crate::history::HistoryFile;
use crate::node::state_file::AgentLock;
use crate::telemetry::{self, Telemetry};
use crate::{api_server, standalone};
use agent_state::AgentState;
use device_plugin::DevicePlugin;
use engine_watcher::{OpenVswitchWatcher, SocketFolderDeleted, VppWatcher};
use input::Input;
use journal_snapshot::JournalReader;
use kube::Client;
use metrics::Metrics;
use node_report::NodeReport;
use persisted_state::PersistedState;
use publish::Publisher;
use reconciler::EngineReconciler;
use spec::{NodeSpec, Report};
use spec_store::SpecStore;
use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::Instrument;
use usnet_crds::legacy::plain_path;
use usnet_dataplane::journal::{self, Journal};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::network_file::{self, NetworkFiles};
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::shared_dirs::SharedDirs;

/// How long the first report waits until the state of all engines is known.
const FIRST_REPORT_TIMEOUT: Duration = Duration::from_secs(1);

/// Options of `usnet agent`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The name of this node in the cluster.
    #[arg(long, env = "NODE_NAME")]
    pub node_name: String,
    /// Take the networks from the YAML files in this folder, and not from an API server.
    #[arg(long, env = "USNET_MANIFESTS", value_name = "FOLDER")]
    pub manifests: Option<PathBuf>,
    /// The memif socket ids of VPP that are usnet's, where others use some too.
    #[arg(long, env = "USNET_MEMIF_SOCKET_IDS", value_name = "FIRST-LAST", default_value_t)]
    pub memif_socket_ids: MemifSocketIds,
    /// Folders of the node under which definitions of the older userspace CNI may name one as `sharedDir`. They are root's alone, and not made.
    #[arg(long = "shared-dir-root", env = "USNET_SHARED_DIR_ROOTS", value_name = "FOLDER", value_delimiter = ':', value_parser = folder_of_node)]
    pub shared_dir_roots: Vec<PathBuf>,
    /// Where it answers how it is.
    #[command(flatten)]
    pub telemetry: telemetry::ListenOptions,
}

fn folder_of_node(text: &str) -> Result<PathBuf, String> {
    plain_path(text).ok_or_else(|| "it has to be an absolute path without \"..\"".to_owned())
}

/// Why the agent cannot start or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server cannot be reached.
    #[error(transparent)]
    ApiServer(#[from] api_server::Error),
    /// The node's run folder cannot be used.
    #[error("the run folder of usnet cannot be used: is it mounted, and writable?")]
    RunFolder(#[source] io::Error),
    /// The journal cannot be used.
    #[error("the folder of attachment records cannot be used: is the node's state folder mounted, and writable?")]
    Journal(#[from] journal::Error),
    /// The network files cannot be used.
    #[error("the folder of network files cannot be used: is the node's run folder mounted, and writable?")]
    NetworkFiles(#[from] network_file::Error),
    /// The metrics and health endpoint cannot be served.
    #[error(transparent)]
    Telemetry(#[from] telemetry::Error),
    /// A bug in this program.
    #[error("the metrics could not be registered")]
    Metrics(#[from] prometheus::Error),
    /// Only a restarted agent can reach the engine again.
    #[error(transparent)]
    SocketFolderDeleted(#[from] SocketFolderDeleted),
}

/// Runs the agent until it is dropped.
///
/// # Errors
/// When it cannot start, or when only a restart helps.
pub async fn run(options: Options) -> Result<(), Error> {
    let span = tracing::info_span!("agent", node = options.node_name);
    run_at(&NodePaths::from_environment(), options).instrument(span).await
}

/// Runs the agent of the node that has its files at `roots`, until it is dropped.
///
/// # Errors
/// As [`run`].
pub async fn run_at(roots: &NodePaths, options: Options) -> Result<(), Error> {
    let agent_lock = AgentLock::acquire(roots).map_err(Error::RunFolder)?;
    if agent_lock.is_none() {
        tracing::warn!("another agent runs on this node: end one of the two");
    }
    SharedDirs::allow(roots, options.shared_dir_roots.clone())?;
    let (inputs, inputs_of_agent) = channel(None);
    let (specs, specs_in_agent) = channel(None);
    let (problems, problems_in_writer) = channel(None);
    let (reports, reports_of_agent) = channel(None);
    let agent = Agent::new(roots, options.memif_socket_ids, specs_in_agent, reports)?;
    let metrics = agent.metrics();
    let telemetry = Arc::new(Telemetry::default());
    metrics.register(telemetry.registry())?;
    let state = state_writer::Sources {
        node: options.node_name.clone(),
        manifests: options.manifests.clone(),
        problems: problems_in_writer,
        reports: reports_of_agent.clone(),
    };
    let persisted_spec = agent.specs.subscribe().borrow().clone();
    let background = async {
        tokio::join!(
            spec_builder::build(persisted_spec.clone(), inputs_of_agent, reports_of_agent.clone(), specs),
            state_writer::write(roots.clone(), state),
            ready_after_first_report(reports_of_agent.clone(), &telemetry),
        );
        Ok(())
    };
    let sync = async {
        match options.manifests {
            Some(folder) => {
                let channels = standalone::Channels { inputs, reports: reports_of_agent.clone(), problems };
                standalone::follow(folder, options.node_name, persisted_spec.clone(), channels).await;
            }
            None => {
                let (journal, client) = (Journal::open(roots)?, api_server::client().await?);
                tokio::join!(
                    sync_with_api_server(client.clone(), options.node_name, inputs, reports_of_agent.clone(), metrics),
                    pod_annotations::run(client, roots, journal),
                );
            }
        }
        Ok(())
    };
    let serve = async { Ok(Arc::clone(&telemetry).serve(options.telemetry).await?) };
    tokio::try_join!(agent.run(), sync, background, serve).map(drop)
}

async fn sync_with_api_server(
    client: Client,
    node: String,
    inputs: Sender<Option<Input>>,
    reports: Receiver<Option<Report>>,
    metrics: Metrics,
) {
    let (statuses, statuses_in_writer) = channel(None);
    tokio::join!(
        watch::follow(client.clone(), node.clone(), watch::Subscribers { inputs, statuses }),
        status::write(client, node, reports, statuses_in_writer, metrics),
    );
}

/// The agent is ready once it has observed its engines, or has timed out waiting for them, whatever
/// the result.
async fn ready_after_first_report(mut reports: Receiver<Option<Report>>, telemetry: &Telemetry) {
    if reports.wait_for(Option::is_some).await.is_ok() {
        telemetry.set_ready();
    }
}

/// The reconcilers of the node, between a channel of specs and a channel of reports.
#[derive(Debug)]
pub struct Agent {
    agent_state: Rc<AgentState>,
    specs: SpecStore,
    open_vswitch: EngineReconciler<OpenVswitchWatcher>,
    vpp: EngineReconciler<VppWatcher>,
    device_plugin: DevicePlugin,
    folder_watches: JoinSet<()>,
}

impl Agent {
    /// Takes over the node as an earlier agent left it. Nothing is changed before [`run`](Self::run). Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// When one of usnet's folders cannot be used.
    pub fn new(
        roots: &NodePaths,
        memif_socket_ids: MemifSocketIds,
        specs: Receiver<Option<Arc<NodeSpec>>>,
        reports: Sender<Option<Report>>,
    ) -> Result<Self, Error> {
        let persisted_state = PersistedState::load(roots);
        let vpp = VppWatcher::connect(&roots.vpp_socket, memif_socket_ids);
        let open_vswitch = OpenVswitchWatcher::connect(&roots.open_vswitch_socket);
        let specs = SpecStore::new(specs, persisted_state.spec());
        let journal = Journal::open(roots)?;
        let agent_state = Rc::new(AgentState {
            journal_reader: RefCell::new(JournalReader::new(journal.clone())),
            journal,
            publisher: RefCell::new(Publisher::load(NetworkFiles::new(roots))?),
            persisted_state: RefCell::new(persisted_state),
            node_report: RefCell::new(NodeReport::new(reports)),
            history: RefCell::new(HistoryFile::new(roots.history_file())),
            metrics: Metrics::new()?,
            memif_socket_ids,
        });
        let (changes, folders) = channel(());
        let mut folder_watches = JoinSet::new();
        for folder in [roots.attachments(), roots.networks()] {
            folder_watches.spawn(folder_watch::follow(folder, folder_watch::RENAMED, changes.clone()));
        }
        Ok(Self {
            open_vswitch: EngineReconciler::new(
                open_vswitch,
                Rc::clone(&agent_state),
                specs.subscribe(),
                folders.clone(),
            ),
            vpp: EngineReconciler::new(vpp, Rc::clone(&agent_state), specs.subscribe(), folders.clone()),
            device_plugin: DevicePlugin::new(roots, Rc::clone(&agent_state), specs.subscribe(), folders),
            agent_state,
            specs,
            folder_watches,
        })
    }

    /// The agent's metrics, to be registered.
    pub fn metrics(&self) -> Metrics {
        self.agent_state.metrics.clone()
    }

    /// Runs indefinitely.
    ///
    /// # Errors
    /// When only a restart helps.
    pub async fn run(self) -> Result<Infallible, Error> {
        let Self { agent_state, specs, open_vswitch, vpp, device_plugin, folder_watches: _folder_watches } = self;
        let first_report = async {
            sleep(FIRST_REPORT_TIMEOUT).await;
            agent_state.node_report.borrow_mut().stop_waiting();
            Ok(())
        };
        let specs = async { Ok(specs.persist(&agent_state).await) };
        let devices = async { Ok(device_plugin.run().await) };
        let (never, ..) = tokio::try_join!(open_vswitch.run(), vpp.run(), specs, devices, first_report)?;
        Ok(never)
    }
}
