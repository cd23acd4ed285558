//! The agent: selects the networks of one node from all compiled networks, makes the node have them, and keeps it so.
//!
//! [`watch`] and [`status`] are the two sides towards the API server, beside [`pod_annotations`] for pods that expect the older userspace CNI; without one, [`crate::standalone`] reads manifests. Both give an [`input`],
//! from which [`spec_builder`] and [`selection`] compute what this node should have; [`node_status`] is what it has, which [`state_writer`] keeps on the node itself too. Between them there is a [`lane`] for each engine: its [`link`] is the side towards the engine,
//! [`wake`] waits for changes, and [`pass`] does the work: [`observe`], [`plan`], [`apply`], [`verify`], [`report`]. What the lanes found meets on the [`board`].
//! Beside them [`device_plugin`] tells kubelet where pods find room. None of that needs an API server: it takes specs from one channel and puts reports into another.

mod acting;
mod apply;
mod board;
mod chronicle;
pub mod device_plugin;
mod folder_watch;
mod guard;
pub mod input;
mod journaled;
mod lane;
mod link;
mod list_watch;
mod memory;
pub mod metrics;
pub mod node_status;
mod observe;
mod pass;
mod plan;
mod pod_annotations;
mod publish;
mod reason;
mod recorder;
mod replay;
mod report;
pub mod selection;
mod shared;
pub mod spec;
pub mod spec_builder;
mod spec_keeper;
mod state_writer;
mod status;
#[cfg(test)]
pub(crate) mod testing;
mod verify;
mod waits;
mod wake;
mod watch;

use crate::history::HistoryFile;
use crate::node::state_file::Presence;
use crate::telemetry::{self, Telemetry};
use crate::{api_server, standalone};
use board::Board;
use device_plugin::DevicePlugin;
use input::Input;
use journaled::Reader;
use kube::Client;
use lane::Lane;
use link::{FolderGone, OpenVswitchLink, VppLink};
use memory::Memory;
use metrics::Metrics;
use publish::Publisher;
use shared::Shared;
use spec::{NodeSpec, Report};
use spec_keeper::SpecKeeper;
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

/// How long the first report waits for all engines to be known.
const FIRST_REPORT: Duration = Duration::from_secs(1);

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
    /// There is no way to the API server.
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
    /// Nobody can ask how the agent is.
    #[error(transparent)]
    Telemetry(#[from] telemetry::Error),
    /// A mistake in the program.
    #[error("the metrics could not be registered")]
    Metrics(#[from] prometheus::Error),
    /// An engine can come back only for a new agent.
    #[error(transparent)]
    FolderGone(#[from] FolderGone),
}

/// Runs the agent until it is dropped.
///
/// # Errors
/// When it cannot start, or only a new start helps.
pub async fn run(options: Options) -> Result<(), Error> {
    let span = tracing::info_span!("agent", node = options.node_name);
    run_at(&NodePaths::from_environment(), options).instrument(span).await
}

/// Runs the agent of the node that has its files at `roots`, until it is dropped.
///
/// # Errors
/// As [`run`].
pub async fn run_at(roots: &NodePaths, options: Options) -> Result<(), Error> {
    let presence = Presence::take(roots).map_err(Error::RunFolder)?;
    if presence.is_none() {
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
    let held = agent.specs.kept().borrow().clone();
    let beside = async {
        tokio::join!(
            spec_builder::build(held.clone(), inputs_of_agent, reports_of_agent.clone(), specs),
            state_writer::write(roots.clone(), state),
            ready_after_first_report(reports_of_agent.clone(), &telemetry),
        );
        Ok(())
    };
    let talk = async {
        match options.manifests {
            Some(folder) => {
                let channels = standalone::Channels { inputs, reports: reports_of_agent.clone(), problems };
                standalone::follow(folder, options.node_name, held.clone(), channels).await;
            }
            None => {
                let (journal, client) = (Journal::open(roots)?, api_server::client().await?);
                tokio::join!(
                    talk_to_api_server(client.clone(), options.node_name, inputs, reports_of_agent.clone(), metrics),
                    pod_annotations::keep(client, roots, journal),
                );
            }
        }
        Ok(())
    };
    let serve = async { Ok(Arc::clone(&telemetry).serve(options.telemetry).await?) };
    tokio::try_join!(agent.run(), talk, beside, serve).map(drop)
}

async fn talk_to_api_server(
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

/// Ready is an agent that has looked at its engines, or waited for them in vain, whatever it found.
async fn ready_after_first_report(mut reports: Receiver<Option<Report>>, telemetry: &Telemetry) {
    if reports.wait_for(Option::is_some).await.is_ok() {
        telemetry.set_ready();
    }
}

/// The work on the node, between a channel of specs and a channel of reports.
#[derive(Debug)]
pub struct Agent {
    shared: Rc<Shared>,
    specs: SpecKeeper,
    open_vswitch: Lane<OpenVswitchLink>,
    vpp: Lane<VppLink>,
    device_plugin: DevicePlugin,
    folder_watches: JoinSet<()>,
}

impl Agent {
    /// Takes over the node as an earlier agent left it. Nothing is changed before [`run`](Self::run). Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// When a folder of ours cannot be used.
    pub fn new(
        roots: &NodePaths,
        memif_socket_ids: MemifSocketIds,
        specs: Receiver<Option<Arc<NodeSpec>>>,
        reports: Sender<Option<Report>>,
    ) -> Result<Self, Error> {
        let memory = Memory::load(roots);
        let vpp = VppLink::connect(&roots.vpp_socket, memif_socket_ids);
        let open_vswitch = OpenVswitchLink::connect(&roots.open_vswitch_socket);
        let specs = SpecKeeper::new(specs, memory.spec());
        let journal = Journal::open(roots)?;
        let shared = Rc::new(Shared {
            reader: RefCell::new(Reader::new(journal.clone())),
            journal,
            publisher: RefCell::new(Publisher::take_over(NetworkFiles::new(roots))?),
            memory: RefCell::new(memory),
            board: RefCell::new(Board::new(reports)),
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
            open_vswitch: Lane::new(open_vswitch, Rc::clone(&shared), specs.kept(), folders.clone()),
            vpp: Lane::new(vpp, Rc::clone(&shared), specs.kept(), folders.clone()),
            device_plugin: DevicePlugin::new(roots, Rc::clone(&shared), specs.kept(), folders),
            shared,
            specs,
            folder_watches,
        })
    }

    /// What is counted. It can be shown in a registry.
    pub fn metrics(&self) -> Metrics {
        self.shared.metrics.clone()
    }

    /// Works for ever.
    ///
    /// # Errors
    /// When only a new start helps.
    pub async fn run(self) -> Result<Infallible, Error> {
        let Self { shared, specs, open_vswitch, vpp, device_plugin, folder_watches: _folder_watches } = self;
        let first_report = async {
            sleep(FIRST_REPORT).await;
            shared.board.borrow_mut().stop_waiting();
            Ok(())
        };
        let specs = async { Ok(specs.keep(&shared).await) };
        let devices = async { Ok(device_plugin.run().await) };
        let (never, ..) = tokio::try_join!(open_vswitch.run(), vpp.run(), specs, devices, first_report)?;
        Ok(never)
    }
}
