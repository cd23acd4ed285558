//! The changes of the tables that filter what a port receives from its pod, and their messages.

use super::guard::{Kind, Session, Verdict};
use super::request::{Find, add, add_with};
use usnet_vpp::messages::{
    ClassifyAddDelSession, ClassifyAddDelTable, DENY, InputAclSetInterface, NO_TABLE, PERMIT, VECTOR_BYTES,
};
use usnet_vpp::{Batch, ReturnCode};

/// A change of a table, or of the table that is set for an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FilterCommand {
    /// A table with room for this many sessions, which drops everything. The outcome is its index.
    CreateTable {
        kind: Kind,
        sessions: usize,
    },
    /// Another table follows.
    Link {
        table: u32,
        next: u32,
    },
    AddSession {
        table: u32,
        session: Session,
    },
    DeleteSession {
        table: u32,
        session: Session,
    },
    /// Filters by a table and those that follow it. Nothing happens where one is set.
    Set {
        index: u32,
        table: u32,
    },
    /// Filters no longer, by the table that is set.
    Unset {
        index: u32,
        table: u32,
    },
    /// Deletes a table and those that follow it.
    DeleteTables {
        first: u32,
    },
}

/// The bytes of a heap without sessions, and those for one session: VPP ends when a heap is full.
/// Both are several times of what was seen.
const HEAP_BYTES: usize = 128 << 10;
const SESSION_BYTES: usize = 1 << 10;

impl FilterCommand {
    /// Whether it does no harm that VPP rejects it: the tables were deleted already.
    pub(super) fn is_harmless(&self, code: ReturnCode) -> bool {
        matches!(self, Self::Unset { .. } | Self::DeleteTables { .. }) && code == ReturnCode::NoSuchTable
    }

    /// Adds its request to a batch.
    pub(super) fn add_to(&self, batch: &mut Batch) -> Find {
        match self {
            Self::CreateTable { kind, sessions } => {
                add_with(batch, table(*kind, *sessions), |reply| reply.new_table_index)
            }
            // Without a mask VPP creates no table where there is none.
            Self::Link { table: table_index, next } => add(
                batch,
                ClassifyAddDelTable {
                    is_add: true,
                    table_index: *table_index,
                    next_table_index: *next,
                    ..ClassifyAddDelTable::default()
                },
            ),
            Self::AddSession { table, session } => add(batch, session_of(*table, session, true)),
            Self::DeleteSession { table, session } => add(batch, session_of(*table, session, false)),
            Self::Set { index, table } => add(batch, filter(*index, *table, true)),
            Self::Unset { index, table } => add(batch, filter(*index, *table, false)),
            Self::DeleteTables { first } => {
                let request = ClassifyAddDelTable { is_add: false, del_chain: true, ..table(Kind::Mac, 0) };
                add(batch, ClassifyAddDelTable { table_index: *first, ..request })
            }
        }
    }
}

fn table(kind: Kind, sessions: usize) -> ClassifyAddDelTable {
    let (mask, memory) = (kind.mask(), HEAP_BYTES + sessions * SESSION_BYTES);
    ClassifyAddDelTable {
        is_add: true,
        table_index: NO_TABLE,
        nbuckets: u32::try_from(2 * sessions.max(1)).unwrap_or(u32::MAX),
        memory_size: u32::try_from(memory).unwrap_or(u32::MAX),
        match_n_vectors: u32::try_from(mask.len() / VECTOR_BYTES).unwrap_or(u32::MAX),
        next_table_index: NO_TABLE,
        miss_next_index: DENY,
        mask,
        ..ClassifyAddDelTable::default()
    }
}

fn session_of(table_index: u32, session: &Session, is_add: bool) -> ClassifyAddDelSession {
    let hit_next_index = match session.verdict {
        Verdict::Pass => PERMIT,
        Verdict::Drop => DENY,
    };
    let (opaque_index, r#match) = (session.number, session.matched.clone());
    ClassifyAddDelSession { is_add, table_index, hit_next_index, opaque_index, r#match, ..Default::default() }
}

fn filter(sw_if_index: u32, l2_table_index: u32, is_add: bool) -> InputAclSetInterface {
    let none = NO_TABLE;
    InputAclSetInterface { sw_if_index, ip4_table_index: none, ip6_table_index: none, l2_table_index, is_add }
}
