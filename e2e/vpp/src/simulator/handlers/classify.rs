//! Classifier tables and filters by them.

use crate::simulator::handlers::dispatch::{Failure, Handle, List};
use crate::simulator::model::classifier::{Session, Table};
use crate::simulator::model::state::State;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    ClassifyAddDelSession, ClassifyAddDelSessionReply, ClassifyAddDelTable, ClassifyAddDelTableReply,
    ClassifySessionDetails, ClassifySessionDump, ClassifyTableByInterface, ClassifyTableByInterfaceReply,
    ClassifyTableIds, ClassifyTableIdsReply, ClassifyTableInfo, ClassifyTableInfoReply, InputAclSetInterface,
    InputAclSetInterfaceReply, L2Flags, L2FlagsReply, L2InputFeatures, NO_TABLE, PERMIT, PERMIT_AS_READ, VECTOR_BYTES,
};

const VECTORS_MAX: u32 = 5;

/// The length in bytes of this many vectors.
fn is_length(length: usize, vectors: u32) -> bool {
    usize::try_from(vectors).is_ok_and(|vectors| vectors * VECTOR_BYTES == length)
}

impl Handle for ClassifyAddDelTable {
    fn handle(&self, state: &mut State) -> Result<ClassifyAddDelTableReply, Failure> {
        if !is_length(self.mask.len(), self.match_n_vectors) {
            return Err(ReturnCode::InvalidValue.into());
        }
        let tables = &mut state.classifier.tables;
        let none = ClassifyAddDelTableReply {
            retval: 0,
            new_table_index: NO_TABLE,
            skip_n_vectors: NO_TABLE,
            match_n_vectors: NO_TABLE,
        };
        if !self.is_add {
            if tables.get(self.table_index).is_none() {
                return Err(ReturnCode::NoSuchTable.into());
            }
            state.classifier.delete(self.table_index, self.del_chain);
            return Ok(none);
        }
        if let Some(table) = tables.get_mut(self.table_index) {
            table.created.next_table_index = self.next_table_index;
            let Table { created: ClassifyAddDelTable { skip_n_vectors, match_n_vectors, .. }, .. } = *table;
            return Ok(ClassifyAddDelTableReply {
                new_table_index: self.table_index,
                skip_n_vectors,
                match_n_vectors,
                ..none
            });
        }
        if self.nbuckets == 0 || !(1..=VECTORS_MAX).contains(&self.match_n_vectors) {
            return Err(ReturnCode::InvalidValue.into());
        }
        Ok(ClassifyAddDelTableReply {
            new_table_index: tables.insert(Table::new(self.clone())),
            skip_n_vectors: self.skip_n_vectors,
            match_n_vectors: self.match_n_vectors,
            ..none
        })
    }
}

impl Handle for ClassifyAddDelSession {
    /// VPP ends when the heap of the table is full.
    fn handle(&self, state: &mut State) -> Result<ClassifyAddDelSessionReply, Failure> {
        let Some(table) = state.classifier.tables.get_mut(self.table_index) else {
            return Err(ReturnCode::NoSuchTable.into());
        };
        if !is_length(self.r#match.len(), table.created.skip_n_vectors + table.created.match_n_vectors) {
            return Err(ReturnCode::InvalidValue.into());
        }
        let key = table.key(&self.r#match);
        if !self.is_add {
            let deleted = table.sessions.remove(&key).ok_or(ReturnCode::NoSuchEntry);
            return Ok(deleted.map(|_| ClassifyAddDelSessionReply::default())?);
        }
        let hit_next_index = if self.hit_next_index == PERMIT { PERMIT_AS_READ } else { self.hit_next_index };
        let session = Session { hit_next_index, opaque_index: self.opaque_index, advance: self.advance };
        table.sessions.insert(key, session);
        if table.is_too_full() { Err(Failure::Fatal) } else { Ok(ClassifyAddDelSessionReply::default()) }
    }
}

impl Handle for InputAclSetInterface {
    /// Setting does nothing where a table is set, and unsetting needs that table.
    fn handle(&self, state: &mut State) -> Result<InputAclSetInterfaceReply, Failure> {
        let index = self.sw_if_index;
        state.interface(index)?;
        if self.l2_table_index == NO_TABLE {
            return Ok(InputAclSetInterfaceReply::default());
        }
        if state.classifier.tables.get(self.l2_table_index).is_none() {
            return Err(ReturnCode::NoSuchTable.into());
        }
        let set = state.classifier.filters.get(&index).copied();
        match (self.is_add, set) {
            (true, Some(_)) => return Ok(InputAclSetInterfaceReply::default()),
            (true, None) => drop(state.classifier.filters.insert(index, self.l2_table_index)),
            (false, Some(table)) if table == self.l2_table_index => drop(state.classifier.filters.remove(&index)),
            (false, _) => return Err(ReturnCode::NoSuchTable.into()),
        }
        state.features.entry(index).or_default().set_input(L2InputFeatures::ACL, self.is_add);
        Ok(InputAclSetInterfaceReply::default())
    }
}

impl Handle for ClassifyTableByInterface {
    fn handle(&self, state: &mut State) -> Result<ClassifyTableByInterfaceReply, Failure> {
        let sw_if_index = self.sw_if_index;
        state.interface(sw_if_index)?;
        let l2_table_id = state.classifier.filters.get(&sw_if_index).copied().unwrap_or(NO_TABLE);
        Ok(ClassifyTableByInterfaceReply {
            retval: 0,
            sw_if_index,
            l2_table_id,
            ip4_table_id: NO_TABLE,
            ip6_table_id: NO_TABLE,
        })
    }
}

impl Handle for ClassifyTableIds {
    fn handle(&self, state: &mut State) -> Result<ClassifyTableIdsReply, Failure> {
        let ids = state.classifier.tables.iter().map(|(index, _)| index).collect();
        Ok(ClassifyTableIdsReply { retval: 0, ids })
    }
}

impl Handle for ClassifyTableInfo {
    fn handle(&self, state: &mut State) -> Result<ClassifyTableInfoReply, Failure> {
        let table = state.classifier.tables.get(self.table_id).ok_or(ReturnCode::ClassifyTableNotFound)?;
        let created = &table.created;
        Ok(ClassifyTableInfoReply {
            retval: 0,
            table_id: self.table_id,
            nbuckets: created.nbuckets.next_power_of_two(),
            match_n_vectors: created.match_n_vectors,
            skip_n_vectors: created.skip_n_vectors,
            active_sessions: u32::try_from(table.sessions.len()).unwrap_or(u32::MAX),
            next_table_index: created.next_table_index,
            miss_next_index: created.miss_next_index,
            mask: created.mask.clone(),
        })
    }
}

impl Handle for L2Flags {
    /// Only reading is simulated: no client sets functions of a single interface.
    fn handle(&self, state: &mut State) -> Result<L2FlagsReply, Failure> {
        state.interface(self.sw_if_index)?;
        let features = state.features.get(&self.sw_if_index).copied().unwrap_or_default();
        Ok(L2FlagsReply { retval: 0, resulting_feature_bitmap: features.input.0 })
    }
}

impl List for ClassifySessionDump {
    fn list(&self, state: &State) -> Vec<ClassifySessionDetails> {
        let sessions = state.classifier.tables.get(self.table_id).into_iter().flat_map(|table| &table.sessions);
        let details = |(key, session): (&Vec<u8>, &Session)| ClassifySessionDetails {
            retval: 0,
            table_id: self.table_id,
            hit_next_index: session.hit_next_index,
            advance: session.advance,
            opaque_index: session.opaque_index,
            r#match: key.clone(),
        };
        sessions.map(details).collect()
    }
}
