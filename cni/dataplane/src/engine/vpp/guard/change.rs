//! The commands by which the guard of a port changes.

use super::{Kind, Session, Table, chain};
use crate::engine::vpp::filter_command::FilterCommand;
use crate::engine::vpp::snapshot::Filter;
use crate::model::port::Guard;

/// A change of what a pod may claim to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct GuardChange {
    /// The index of its interface.
    pub(in crate::engine::vpp) index: u32,
    pub(in crate::engine::vpp) found: Option<Filter>,
    /// `None` if that is anything.
    pub(in crate::engine::vpp) desired: Option<Guard>,
}

impl GuardChange {
    /// The tables to create. Those of a guard that changes follow the first one, which stays, so
    /// that there is no moment without a filter.
    pub(in crate::engine::vpp) fn new_tables(&self) -> Vec<Table> {
        let mut tables = self.desired.as_ref().map(chain).unwrap_or_default();
        if self.kept().is_some_and(|(_, kind)| tables.first().is_some_and(|first| first.kind == kind)) {
            tables.remove(0);
        }
        tables
    }

    /// The filter whose first table stays, and the kind of that.
    fn kept(&self) -> Option<(&Filter, Kind)> {
        let found = self.found.as_ref().filter(|found| found.is_effective && found.is_own())?;
        Some((found, Kind::of(&found.tables.first()?.mask)?))
    }

    /// The table that is set when it is done.
    pub(in crate::engine::vpp) fn first(&self, created: &[u32]) -> Option<u32> {
        self.kept().map(|(kept, _)| kept.first).or_else(|| created.first().copied()).filter(|_| self.desired.is_some())
    }

    /// The commands that set the created tables, and delete what was set before.
    pub(in crate::engine::vpp) fn switch(&self, created: &[u32]) -> Vec<FilterCommand> {
        match (self.kept(), created.first()) {
            (Some((kept, kind)), Some(second)) => self.replace(kept, kind, *second),
            (_, first) => self.set(first.copied()),
        }
    }

    /// The commands after which created tables may be deleted although one may have been set.
    pub(in crate::engine::vpp) fn undo(&self, created: &[u32]) -> Vec<FilterCommand> {
        let index = self.index;
        let first = created.first().filter(|_| self.kept().is_none());
        let undo = first.map(|table| {
            [FilterCommand::Unset { index, table: *table }, FilterCommand::DeleteTables { first: *table }]
        });
        undo.into_iter().flatten().collect()
    }

    /// The first table gets its sessions and another next table. Until the last of these commands a
    /// pod may do what it could before or can afterwards.
    fn replace(&self, kept: &Filter, kind: Kind, second: u32) -> Vec<FilterCommand> {
        let table = kept.first;
        let desired = self.desired.as_ref().map(chain).unwrap_or_default().into_iter().next();
        // One of another kind has none, and stays until the port goes.
        let desired = desired.filter(|first| first.kind == kind).map(|first| first.sessions).unwrap_or_default();
        let found = kept.tables.first().map(|table| table.sessions.clone()).unwrap_or_default();
        let added =
            desired.difference(&found).map(|session| FilterCommand::AddSession { table, session: session.clone() });
        let deleted = found
            .iter()
            .filter(|session| desired.iter().all(|other| other.matched != session.matched))
            .map(|session| FilterCommand::DeleteSession { table, session: session.clone() });
        let old = kept.tables.get(1).map(|table| FilterCommand::DeleteTables { first: table.index });
        let link = FilterCommand::Link { table, next: second };
        added.chain([link]).chain(deleted).chain(old).collect()
    }

    /// A table that is set, if only for a former interface with the index, has to be unset first.
    fn set(&self, first: Option<u32>) -> Vec<FilterCommand> {
        let index = self.index;
        let unset = self.found.as_ref().map(|found| FilterCommand::Unset { index, table: found.first });
        let set = first.map(|table| FilterCommand::Set { index, table });
        let delete = self
            .found
            .as_ref()
            .filter(|found| found.is_own())
            .map(|found| FilterCommand::DeleteTables { first: found.first });
        unset.into_iter().chain(set).chain(delete).collect()
    }
}

/// The commands that give created tables their sessions, and join them to a chain.
pub(in crate::engine::vpp) fn fill(tables: &[Table], created: &[u32]) -> Vec<FilterCommand> {
    let sessions = tables.iter().zip(created).flat_map(|(table, index)| {
        let add = |session: &Session| FilterCommand::AddSession { table: *index, session: session.clone() };
        table.sessions.iter().map(add)
    });
    let linked = created.iter().zip(created.iter().skip(1));
    let link = linked.map(|(index, next)| FilterCommand::Link { table: *index, next: *next });
    sessions.chain(link).collect()
}
