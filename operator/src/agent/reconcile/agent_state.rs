//! What all reconcilers are given, and the state that they share. They run on one thread and hold
//! no borrow of it across an await, so that a `RefCell` is enough.

use super::journal::JournalReader;
use super::publish::Publisher;
use crate::agent::isolation::Isolation;
use crate::agent::model::spec::NodeSpec;
use crate::agent::report::metrics::Metrics;
use crate::agent::report::node_report::NodeReport;
use crate::agent::selection::persisted_state::PersistedState;
use crate::node::history_file::HistoryFile;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::watch::Receiver;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::paths::NodePaths;

/// The state of the node that belongs to no single engine.
#[derive(Debug)]
pub(crate) struct AgentState {
    pub(crate) journal: Journal,
    pub(crate) journal_reader: RefCell<JournalReader>,
    pub(crate) publisher: RefCell<Publisher>,
    pub(crate) persisted_state: RefCell<PersistedState>,
    pub(crate) node_report: RefCell<NodeReport>,
    pub(crate) history: RefCell<HistoryFile>,
    pub(crate) metrics: Metrics,
    pub(crate) isolation: Isolation,
    pub(crate) memif_socket_ids: MemifSocketIds,
    /// Why the state or run directory cannot be written.
    pub(crate) state_problem: RefCell<Option<String>>,
}

/// What every reconciler is given.
#[derive(Debug, Clone)]
pub(crate) struct Inputs {
    /// The state that all of them share.
    pub(crate) agent_state: Rc<AgentState>,
    /// The specs of the node.
    pub(crate) specs: Receiver<Option<Arc<NodeSpec>>>,
    /// Changes of the journal and of the network files.
    pub(crate) folders: Receiver<()>,
    /// Changes of the node's devices.
    pub(crate) links: Receiver<()>,
    /// Where the files of the node are, and the network namespace of its devices.
    pub(crate) paths: NodePaths,
}
