//! Classifier tables, and which of them are set for an index. The simulator moves no frames.

use super::pool::Pool;
use std::collections::BTreeMap;
use usnet_vpp::messages::ClassifyAddDelTable;

#[derive(Debug, Default)]
pub(crate) struct Classifier {
    pub(crate) tables: Pool<Table>,
    /// The table of layer 2 by interface index. It stays when the interface is deleted, and when it
    /// leaves its bridge domain.
    pub(crate) filters: BTreeMap<u32, u32>,
}

#[derive(Debug)]
pub(crate) struct Table {
    /// As it was created, with the present next table.
    pub(crate) created: ClassifyAddDelTable,
    /// By their masked matches.
    pub(crate) sessions: BTreeMap<Vec<u8>, Session>,
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) hit_next_index: u32,
    pub(crate) opaque_index: u32,
    pub(crate) advance: i32,
}

/// The bytes of a session without its key, and of the heap of a table without sessions. VPP's heap
/// needs about so much for 65 sessions of two vectors in 64 KiB.
const SESSION_BYTES: usize = 225 - 32;
const EMPTY_BYTES: usize = 48 * 1024;

impl Table {
    pub(crate) fn new(created: ClassifyAddDelTable) -> Self {
        Self { created, sessions: BTreeMap::new() }
    }

    /// A match without the bytes that the table ignores.
    pub(crate) fn key(&self, matched: &[u8]) -> Vec<u8> {
        matched.iter().zip(&self.created.mask).map(|(byte, mask)| byte & mask).collect()
    }

    /// Whether the heap is too small for its sessions, by which VPP ends.
    pub(crate) fn is_too_full(&self) -> bool {
        let bytes: usize = self.sessions.keys().map(|key| key.len() + SESSION_BYTES).sum();
        usize::try_from(self.created.memory_size).is_ok_and(|size| EMPTY_BYTES + bytes > size)
    }
}

impl Classifier {
    /// Deletes a table and, if that is wanted, those that follow it.
    pub(crate) fn delete(&mut self, index: u32, with_chain: bool) {
        let mut next = Some(index);
        while let Some(table) = next.and_then(|index| self.tables.remove(index)) {
            next = with_chain.then_some(table.created.next_table_index);
        }
    }
}
