//! What the lanes share. They run on one thread and hold none of it while they wait, so that a cell is enough.

use super::board::Board;
use super::journaled::Reader;
use super::memory::Memory;
use super::metrics::Metrics;
use super::publish::Publisher;
use crate::history::HistoryFile;
use std::cell::RefCell;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::memif::MemifSocketIds;

/// The parts of a node that belong to no single engine.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) journal: Journal,
    pub(super) reader: RefCell<Reader>,
    pub(super) publisher: RefCell<Publisher>,
    pub(super) memory: RefCell<Memory>,
    pub(super) board: RefCell<Board>,
    pub(super) history: RefCell<HistoryFile>,
    pub(super) metrics: Metrics,
    pub(super) memif_socket_ids: MemifSocketIds,
}
