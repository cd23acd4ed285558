//! The tables that filter what interfaces receive: read by the indexes of interfaces, because
//! tables have no names.

use crate::engine::error::EngineError;
use crate::engine::vpp::guard::{ObservedTable, guard_of};
use crate::model::port::Guard;
use std::collections::{BTreeMap, BTreeSet};
use usnet_vpp::messages::{
    ClassifySessionDump, ClassifyTableByInterface, ClassifyTableIds, ClassifyTableInfo, ClassifyTableInfoReply, DENY,
    L2FlagsGet, L2InputFeatures, NO_TABLE,
};
use usnet_vpp::{Answers, Api, Batch, Ticket};

/// The tables that are set for the index of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct Filter {
    /// The first table, whether it is there or was deleted.
    pub(in crate::engine::vpp) first: u32,
    /// Whether frames are filtered. Tables may be set because a former interface had the index.
    pub(in crate::engine::vpp) is_effective: bool,
    pub(in crate::engine::vpp) tables: Vec<ObservedTable>,
}

impl Filter {
    /// What the pod may claim to be; `None` if usnet does not check it. A filter of another client
    /// is none of usnet's business on a port without a guard.
    pub(in crate::engine::vpp) fn guard(&self) -> Option<Guard> {
        (self.is_effective && self.is_own()).then(|| guard_of(&self.tables))
    }

    /// Whether usnet created the tables.
    pub(in crate::engine::vpp) fn is_own(&self) -> bool {
        self.tables.iter().any(ObservedTable::is_own)
    }
}

/// The filters of some interfaces.
#[derive(Debug, Default)]
pub(in crate::engine::vpp) struct Filters {
    pub(in crate::engine::vpp) by_index: BTreeMap<u32, Filter>,
    /// The indexes of all tables of VPP.
    pub(in crate::engine::vpp) all_tables: Vec<u32>,
}

/// The table that is set for an index, and the features of the interface.
pub(in crate::engine::vpp) struct FilterTickets {
    index: u32,
    table: Ticket<ClassifyTableByInterface>,
    /// `None` if VPP does not report them: which bit is which differs between releases.
    features: Option<Ticket<L2FlagsGet>>,
}

impl FilterTickets {
    pub(in crate::engine::vpp) fn request(batch: &mut Batch, api: &impl Api, sw_if_index: u32) -> Self {
        let features = api.supports::<L2FlagsGet>().then(|| batch.request(L2FlagsGet { sw_if_index }));
        let table = batch.request(ClassifyTableByInterface { sw_if_index });
        Self { index: sw_if_index, table, features }
    }

    /// The first table and whether frames are filtered; `None` if no table is set. What VPP refuses
    /// is of an interface that was deleted, or is in no bridge domain.
    pub(in crate::engine::vpp) fn read(self, answers: &Answers) -> Option<(u32, Filter)> {
        let first = answers.reply(self.table).ok()?.l2_table_id;
        let features = self.features.and_then(|ticket| answers.reply(ticket).ok());
        let is_effective =
            features.is_some_and(|features| features.input_feature_bitmap.contains(L2InputFeatures::ACL));
        (first != NO_TABLE).then_some((self.index, Filter { first, is_effective, tables: Vec::new() }))
    }
}

impl Filters {
    /// Reads the filters of these interfaces: which tables are set, all tables, and the sessions of
    /// those that are set.
    pub(in crate::engine::vpp) async fn read(
        api: &mut impl Api,
        indexes: impl IntoIterator<Item = u32>,
    ) -> Result<Self, EngineError> {
        let mut filters = Self::read_set(api, indexes).await?;
        if !filters.by_index.is_empty() {
            filters.read_tables(api).await?;
        }
        Ok(filters)
    }

    /// Reads which tables are set, and nothing of the tables.
    pub(in crate::engine::vpp) async fn read_set(
        api: &mut impl Api,
        indexes: impl IntoIterator<Item = u32>,
    ) -> Result<Self, EngineError> {
        let mut batch = Batch::new();
        let ids = batch.request(ClassifyTableIds {});
        let tickets: Vec<_> = indexes.into_iter().map(|index| FilterTickets::request(&mut batch, api, index)).collect();
        let answers = api.send(&batch).await?;
        let by_index = tickets.into_iter().filter_map(|ticket| ticket.read(&answers)).collect();
        Ok(Self { by_index, all_tables: answers.reply(ids)?.ids })
    }

    async fn read_tables(&mut self, api: &mut impl Api) -> Result<(), EngineError> {
        let mut batch = Batch::new();
        let ids = self.all_tables.iter();
        let tickets: Vec<_> = ids.map(|id| batch.request(ClassifyTableInfo { table_id: *id })).collect();
        let answers = api.send(&batch).await?;
        // One that is refused was deleted meanwhile.
        let infos = tickets.into_iter().filter_map(|ticket| answers.reply(ticket).ok());
        let infos: BTreeMap<u32, ClassifyTableInfoReply> = infos.map(|info| (info.table_id, info)).collect();
        let mut batch = Batch::new();
        let mut sessions = Vec::new();
        for (index, filter) in &self.by_index {
            for info in chain(filter.first, &infos) {
                let table_id = info.table_id;
                sessions.push((*index, info, batch.dump(ClassifySessionDump { table_id })));
            }
        }
        if batch.is_empty() {
            return Ok(());
        }
        let answers = api.send(&batch).await?;
        for (index, info, ticket) in sessions {
            let table = ObservedTable {
                index: info.table_id,
                mask: if info.skip_n_vectors == 0 { info.mask.clone() } else { Vec::new() },
                drops_others: info.miss_next_index == DENY,
                sessions: answers.details(ticket)?.into_iter().map(Into::into).collect(),
            };
            if let Some(filter) = self.by_index.get_mut(&index) {
                filter.tables.push(table);
            }
        }
        Ok(())
    }
}

/// The tables from one on, each once.
fn chain(first: u32, infos: &BTreeMap<u32, ClassifyTableInfoReply>) -> impl Iterator<Item = &ClassifyTableInfoReply> {
    let mut seen = BTreeSet::new();
    let next = |info: &&ClassifyTableInfoReply| infos.get(&info.next_table_index);
    std::iter::successors(infos.get(&first), next).take_while(move |info| seen.insert(info.table_id))
}

/// Where the answer is, whether VPP has any table.
#[derive(Debug)]
pub(super) struct FilterTablesTicket(Option<Ticket<ClassifyTableIds>>);

impl FilterTablesTicket {
    pub(super) fn request(batch: &mut Batch, api: &impl Api) -> Self {
        Self(api.supports::<ClassifyTableIds>().then(|| batch.request(ClassifyTableIds {})))
    }

    /// Reads the filters of these interfaces. There are none while VPP has no tables.
    pub(super) async fn read(
        self,
        answers: &Answers,
        api: &mut impl Api,
        indexes: Vec<u32>,
    ) -> Result<BTreeMap<u32, Filter>, EngineError> {
        let tables = self.0.map(|ticket| answers.reply(ticket)).transpose()?.unwrap_or_default().ids;
        if tables.is_empty() || indexes.is_empty() {
            return Ok(BTreeMap::new());
        }
        Ok(Filters::read(api, indexes).await?.by_index)
    }
}
