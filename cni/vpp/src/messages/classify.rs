//! Classifier tables, and the filter of what an interface receives by them (`classify.api`,
//! `l2.api`).
//!
//! A table has a mask over the first bytes of a frame, and sessions that say what happens to a
//! frame whose masked bytes are theirs. What no session matches goes to the next table, and at the
//! end of the chain to `miss_next_index`.
//!
//! Seen with VPP 26.06, or read in its source:
//! - A filter belongs to an index and not to an interface. The next interface with the index of a
//!   deleted one is not filtered, although [`ClassifyTableByInterface`] names the table; setting a
//!   table there is answered with 0 and does nothing, until that table is unset. The same holds for
//!   an interface that left its bridge domain. What counts is the feature that [`L2FlagsGet`] or
//!   [`L2Flags`] reads.
//! - A filter is unset only with the table that it has. After that table is deleted it cannot be
//!   unset.
//! - A table has a heap of its own. VPP ends when a session does not fit there.
//! - A frame that is shorter than the mask is compared with what its buffer had before.
//! - [`ClassifyAddDelTable`] with an index changes only the next table of the existing one, at once
//!   and while frames pass.
//! - VPP does not initialize the refusal of [`ClassifyTableInfo`] for a table that is not there:
//!   ask only for tables that [`ClassifyTableIds`] names.
//!
//! [`L2FlagsGet`]: super::L2FlagsGet

use super::macros::{dumps, requests};
use crate::wire::open_enum;

/// This index means no table.
pub const NO_TABLE: u32 = u32::MAX;
/// The bytes of a vector, of which masks and matches are multiples.
pub const VECTOR_BYTES: usize = 16;
/// The next index by which a filter drops a frame.
pub const DENY: u32 = 0;
/// The next index by which a filter lets a frame pass.
pub const PERMIT: u32 = u32::MAX;
/// [`PERMIT`] as [`ClassifySessionDetails`] has it: VPP keeps 16 bits.
pub const PERMIT_AS_READ: u32 = 0xffff;

open_enum! {
    /// What a session does besides.
    ClassifyAction: u8 {
        Nothing = 0,
        SetIp4FibIndex = 1,
        SetIp6FibIndex = 2,
        SetMetadata = 3,
    }
}

requests! { CLASSIFY_REQUESTS, None;
    /// Creates a table, deletes it, or sets the next table of an existing one.
    ClassifyAddDelTable("classify_add_del_table", "6849e39e") {
        is_add: bool,
        /// Whether the tables that follow are deleted as well.
        del_chain: bool,
        /// [`NO_TABLE`] for a new one.
        table_index: u32,
        nbuckets: u32,
        /// The size of its heap in bytes.
        memory_size: u32,
        /// Vectors at the start of a frame that are not compared.
        skip_n_vectors: u32,
        match_n_vectors: u32,
        next_table_index: u32,
        miss_next_index: u32,
        current_data_flag: u8,
        current_data_offset: i16,
        mask: Vec<u8>,
    } => ClassifyAddDelTableReply("05486349") {
        new_table_index: u32,
        skip_n_vectors: u32,
        match_n_vectors: u32,
    }

    /// Adds a session to a table, replaces the one with its match, or deletes it.
    ClassifyAddDelSession("classify_add_del_session", "f20879f0") {
        is_add: bool,
        table_index: u32,
        /// [`DENY`] or [`PERMIT`] in a table of a filter.
        hit_next_index: u32,
        /// A number that clients choose.
        opaque_index: u32,
        advance: i32,
        action: ClassifyAction,
        metadata: u32,
        r#match: Vec<u8>,
    } => ClassifyAddDelSessionReply("e8d4e804") {}

    /// Sets or unsets the tables by which what an interface receives is filtered.
    InputAclSetInterface("input_acl_set_interface", "de7ad708") {
        sw_if_index: u32,
        ip4_table_index: u32,
        ip6_table_index: u32,
        l2_table_index: u32,
        is_add: bool,
    } => InputAclSetInterfaceReply("e8d4e804") {}

    /// Reads the tables that are set for an index, whether they filter or not.
    ClassifyTableByInterface("classify_table_by_interface", "f9e6675e") {
        sw_if_index: u32,
    } => ClassifyTableByInterfaceReply("ed4197db") {
        sw_if_index: u32,
        l2_table_id: u32,
        ip4_table_id: u32,
        ip6_table_id: u32,
    }

    /// Reads the indexes of all tables.
    ClassifyTableIds("classify_table_ids", "51077d14") {
    } => ClassifyTableIdsReply("d1d20e1d") {
        ids: Vec<u32>,
    }

    ClassifyTableInfo("classify_table_info", "0cca2cd9") {
        table_id: u32,
    } => ClassifyTableInfoReply("4a573c0e") {
        table_id: u32,
        nbuckets: u32,
        match_n_vectors: u32,
        skip_n_vectors: u32,
        active_sessions: u32,
        next_table_index: u32,
        miss_next_index: u32,
        mask: Vec<u8>,
    }

    /// Sets or clears functions of one interface in its bridge domain. Without any it changes
    /// nothing, and so reads what the interface has, in releases without
    /// [`L2FlagsGet`](super::L2FlagsGet). Which bit is which differs between releases.
    L2Flags("l2_flags", "fc41cfe8") {
        sw_if_index: u32,
        is_set: bool,
        feature_bitmap: u32,
    } => L2FlagsReply("29b2a2b3") {
        resulting_feature_bitmap: u32,
    }
}

dumps! { CLASSIFY_DUMPS, None;
    /// Reads the sessions of a table.
    ClassifySessionDump("classify_session_dump", "0cca2cd9") {
        table_id: u32,
    } => ClassifySessionDetails("classify_session_details", "60e3ef94") {
        retval: i32,
        table_id: u32,
        hit_next_index: u32,
        advance: i32,
        opaque_index: u32,
        r#match: Vec<u8>,
    }
}
