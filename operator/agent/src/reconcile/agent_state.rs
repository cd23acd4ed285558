//! The state that reconcilers and other tasks of the agent share, and the inputs of reconcilers.
//! All tasks run on one thread.

use super::journal::JournalReader;
use super::publish::Publisher;
use crate::isolation::Isolation;
use crate::legacy_pods;
use crate::model::policies::KnownPolicies;
use crate::model::spec::NodeSpec;
use crate::report::metrics::Metrics;
use crate::report::node_report::NodeReport;
use crate::selection::persisted_state::PersistedState;
use crate::task_cell::TaskCell;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::watch::Receiver;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::paths::NodePaths;
use usnet_node::history_file::HistoryFile;

/// The state of the node that belongs to no single engine.
#[derive(Debug)]
pub(crate) struct AgentState {
    pub(crate) journal: Journal,
    pub(crate) journal_reader: TaskCell<JournalReader>,
    pub(crate) publisher: TaskCell<Publisher>,
    pub(crate) persisted_state: TaskCell<PersistedState>,
    pub(crate) node_report: TaskCell<NodeReport>,
    pub(crate) history: TaskCell<HistoryFile>,
    /// What the legacy plugin attached.
    pub(crate) legacy_pods: TaskCell<legacy_pods::Found>,
    pub(crate) metrics: Metrics,
    pub(crate) isolation: Isolation,
    pub(crate) memif_socket_ids: MemifSocketIds,
    /// Why the state or run directory cannot be written; none if it can.
    pub(crate) state_problem: TaskCell<Option<String>>,
}

/// The inputs of every reconciler.
#[derive(Debug, Clone)]
pub(crate) struct Inputs {
    pub(crate) agent_state: Rc<AgentState>,
    /// The specs of the node.
    pub(crate) specs: Receiver<Option<Arc<NodeSpec>>>,
    /// The policies of networks.
    pub(crate) policies: Receiver<KnownPolicies>,
    /// Changes of the journal and of the network files.
    pub(crate) folders: Receiver<()>,
    /// Changes of the node's devices.
    pub(crate) links: Receiver<()>,
    /// The paths of the node's files, and the network namespace of its devices.
    pub(crate) paths: NodePaths,
}
