//! The agent of one node, between a channel of specs and a channel of reports. It needs no API
//! server.

use super::error::Error;
use crate::captures::CaptureCleanup;
use crate::claims;
use crate::device_plugin::DevicePlugin;
use crate::isolation::Isolation;
use crate::legacy_pods;
use crate::model::policies::{CompiledPolicies, PodSlices};
use crate::model::report::Report;
use crate::model::spec::NodeSpec;
use crate::reconcile::agent_state::{AgentState, Inputs};
use crate::reconcile::journal::JournalReader;
use crate::reconcile::publish::{self, Publisher};
use crate::reconcile::schedule::reconcilers::{self, Reconciler};
use crate::report::metrics::Metrics;
use crate::report::node_report::NodeReport;
use crate::report::{call_counter, garbage_counter, refused_counter};
use crate::selection::persisted_state::PersistedState;
use crate::selection::policy_store::PolicyStore;
use crate::selection::spec_store::SpecStore;
use crate::task_cell::TaskCell;
use crate::watch::{Owners, PodSliceChannels, PolicyChannels, folder_watch, link_watch};
use crate::writable_directories::WritableDirectories;
use futures::TryFutureExt;
use futures::future::try_join_all;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::task::JoinSet;
use tokio::time::sleep;
use usnet_common::display::ErrorChain;
use usnet_crds::EngineKind;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::network_file::NetworkFiles;
use usnet_dataplane::paths::NodePaths;
use usnet_node::history_file::HistoryFile;

/// How long the first report waits until the state of all engines is known. An engine that hangs
/// must not withhold the state of the others; with a shorter wait, each start of the agent would
/// report `Ready=Unknown`, because the first connection takes some time.
const FIRST_REPORT_TIMEOUT: Duration = Duration::from_secs(1);

/// The reconcilers of the node, between a channel of specs and a channel of reports.
#[derive(Debug)]
pub struct Agent {
    agent_state: Rc<AgentState>,
    specs: SpecStore,
    policies: PolicyStore,
    reconcilers: Vec<Box<dyn Reconciler>>,
    device_plugin: DevicePlugin,
    watches: JoinSet<()>,
    /// Changes in the folder of network files.
    networks_folder: Receiver<()>,
    /// Wakes the reconcilers.
    changes: Sender<()>,
    writable_directories: WritableDirectories,
    capture_cleanup: CaptureCleanup,
    paths: NodePaths,
}

impl Agent {
    /// Loads the state that an earlier agent of the node left. Nothing is changed before
    /// [`run`](Self::run). Must be called inside a tokio runtime.
    pub fn new(
        paths: &NodePaths,
        memif_socket_ids: MemifSocketIds,
        specs: Receiver<Option<Arc<NodeSpec>>>,
        reports: Sender<Option<Report>>,
    ) -> Result<Self, Error> {
        // The reconcilers start with the persisted spec: without it, they would do nothing until
        // the API server is reached, although pods may have lost their ports.
        let persisted_state = PersistedState::load(paths);
        let specs = SpecStore::new(specs, persisted_state.spec());
        let policies = PolicyStore::load(paths, specs.subscribe(), reports.subscribe());
        let journal = open_journal(paths)?;
        let agent_state = Rc::new(AgentState {
            journal_reader: TaskCell::new(JournalReader::new(journal.clone())),
            journal,
            publisher: TaskCell::new(Publisher::load(NetworkFiles::new(paths))?),
            persisted_state: TaskCell::new(persisted_state),
            node_report: TaskCell::new(NodeReport::new(reports)),
            history: TaskCell::new(HistoryFile::new(paths.history_file())),
            legacy_pods: TaskCell::new(legacy_pods::Found::read(paths)),
            metrics: Metrics::new()?,
            isolation: Isolation::new(paths.network_namespace.clone()),
            memif_socket_ids,
            state_problem: TaskCell::default(),
        });
        let (changes, folders) = channel(());
        let mut watches = JoinSet::new();
        watches.spawn(folder_watch::follow(paths.attachments(), folder_watch::WRITTEN, changes.clone()));
        let (network_files, networks_folder) = channel(());
        watches.spawn(folder_watch::follow(paths.networks(), folder_watch::WRITTEN, network_files));
        let (link_changes, links) = channel(());
        watches.spawn(link_watch::follow(paths.network_namespace.clone(), link_changes));
        watches.spawn(agent_state.isolation.clone().follow(links.clone()));
        let inputs = Inputs {
            agent_state: Rc::clone(&agent_state),
            specs: specs.subscribe(),
            policies: policies.subscribe(),
            folders,
            links,
            paths: paths.clone(),
        };
        let device_plugin =
            DevicePlugin::new(paths, Rc::clone(&agent_state), specs.subscribe(), networks_folder.clone());
        let reconciler = |engine| reconcilers::reconciler(engine, paths, memif_socket_ids, inputs.clone());
        Ok(Self {
            reconcilers: EngineKind::ALL.into_iter().map(reconciler).collect(),
            device_plugin,
            capture_cleanup: CaptureCleanup::new(paths, Rc::clone(&agent_state)),
            writable_directories: WritableDirectories::new(paths, Rc::clone(&agent_state), changes.clone()),
            paths: paths.clone(),
            agent_state,
            specs,
            policies,
            watches,
            networks_folder,
            changes,
        })
    }

    /// The spec that an earlier agent left on disk; none on a new node.
    pub(super) fn persisted_spec(&self) -> Option<Arc<NodeSpec>> {
        self.specs.subscribe().borrow().clone()
    }

    /// The state that the parts of the agent share.
    pub(super) fn state(&self) -> Rc<AgentState> {
        Rc::clone(&self.agent_state)
    }

    /// The inputs of resource claims, and the sender of one of them: the owners of the node state.
    pub(super) fn claims_inputs(&self) -> (Sender<Owners>, claims::Inputs) {
        let (sender, owners) = channel(None);
        let inputs = claims::Inputs {
            paths: self.paths.clone(),
            agent_state: Rc::clone(&self.agent_state),
            specs: self.specs.subscribe(),
            files: self.networks_folder.clone(),
            attachments: self.changes.subscribe(),
            owners,
        };
        (sender, inputs)
    }

    /// Sends the policies of the API server to the agent.
    pub fn policies(&self) -> Sender<CompiledPolicies> {
        self.policies.objects()
    }

    /// Sends the pods that policies select to the agent.
    pub fn pod_slices(&self) -> Sender<PodSlices> {
        self.policies.slices()
    }

    /// The channels of the watch of policies.
    pub(super) fn policy_channels(&self) -> PolicyChannels {
        let pods = PodSliceChannels { networks: self.policies.networks(), updates: self.policies.slices() };
        PolicyChannels { needed: self.policies.needed(), updates: self.policies.objects(), pods }
    }

    pub fn metrics(&self) -> Metrics {
        self.agent_state.metrics.clone()
    }

    /// Runs indefinitely, or until only a restart helps.
    pub async fn run(self) -> Result<Infallible, Error> {
        let Self {
            agent_state,
            specs,
            policies,
            reconcilers,
            device_plugin,
            watches: _watches,
            networks_folder,
            changes,
            writable_directories,
            capture_cleanup,
            paths,
        } = self;
        let first_report = async {
            sleep(FIRST_REPORT_TIMEOUT).await;
            agent_state.node_report.update(NodeReport::stop_waiting);
            Ok(())
        };
        let reconcilers = try_join_all(reconcilers.into_iter().map(|reconciler| reconciler.run().map_err(Error::from)));
        let specs = async { Ok(specs.persist(&agent_state.persisted_state).await) };
        let policies = async { Ok(policies.run().await) };
        let devices = async { Ok(device_plugin.run().await) };
        let captures = async { Ok(capture_cleanup.follow().await) };
        let writable = async { Ok(writable_directories.follow().await) };
        let legacy = async { Ok(legacy_pods::follow(&paths, &agent_state.legacy_pods, &changes).await) };
        let refused = refused_counter::follow(paths.network_namespace.clone(), agent_state.metrics.clone());
        let refused = async { Ok(refused.await) };
        let garbage = garbage_counter::follow(paths.garbage_file(), agent_state.metrics.clone());
        let calls = call_counter::follow(paths.clone(), agent_state.metrics.clone());
        let (garbage, calls) = (async { Ok(garbage.await) }, async { Ok(calls.await) });
        let network_files =
            async { Ok(publish::follow_changes(&agent_state.publisher, networks_folder, &changes).await) };
        // Devices are polled first: kubelet fails pods that it admits before their devices are
        // registered.
        let (_, never, ..) = tokio::try_join!(
            devices,
            specs,
            policies,
            reconcilers,
            writable,
            captures,
            garbage,
            calls,
            refused,
            legacy,
            network_files,
            first_report
        )?;
        Ok(never)
    }
}

fn open_journal(paths: &NodePaths) -> Result<Journal, Error> {
    let journal = Journal::open(paths)?;
    if let Err(error) = journal.repair_index() {
        tracing::warn!(error = %ErrorChain(&error), "cannot repair the index of attachment records");
    }
    Ok(journal)
}
