//! The state that all reconcilers share. They run on one thread and hold no borrow of it across an
//! await, so that a `RefCell` is enough.

use super::journal_snapshot::JournalReader;
use super::metrics::Metrics;
use super::node_report::NodeReport;
use super::persisted_state::PersistedState;
use super::publish::Publisher;
use crate::history::HistoryFile;
use std::cell::RefCell;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::memif::MemifSocketIds;

/// The parts of a node that belong to no single engine.
#[derive(Debug)]
pub(super) struct AgentState {
    pub(super) journal: Journal,
    pub(super) journal_reader: RefCell<JournalReader>,
    pub(super) publisher: RefCell<Publisher>,
    pub(super) persisted_state: RefCell<PersistedState>,
    pub(super) node_report: RefCell<NodeReport>,
    pub(super) history: RefCell<HistoryFile>,
    pub(super) metrics: Metrics,
    pub(super) memif_socket_ids: MemifSocketIds,
}
