//! Guards of interfaces that are created, in two batches that have other requests as well: first
//! the tables, because VPP chooses their indexes, then their sessions, the table that is set, and
//! the reading back. Pure, except for adding requests to batches.

use super::guards::{NOT_FILTERED, rejection};
use crate::engine::vpp::command::{CommandBatch, VppCommand};
use crate::engine::vpp::filter_command::FilterCommand;
use crate::engine::vpp::guard::{GuardChange, Table, fill};
use crate::engine::vpp::snapshot::{Filter, FilterTickets};
use crate::model::port::Guard;
use usnet_vpp::{Answers, Api, Batch};

/// The tables of a guard while they are created.
pub(super) struct TableTickets {
    change: GuardChange,
    tables: Vec<Table>,
    create: CommandBatch,
    set: FilterTickets,
}

/// The tables of a guard without their sessions.
#[derive(Debug)]
pub(super) struct CreatedTables {
    change: GuardChange,
    tables: Vec<Table>,
    /// Their indexes.
    created: Vec<u32>,
    /// Whether any table is set for the index of the interface, which a former one had.
    pub(super) has_former: bool,
}

/// A guard while it is set.
pub(super) struct GuardTickets {
    index: u32,
    first: Option<u32>,
    list: Vec<FilterCommand>,
    outcomes: CommandBatch,
    set: FilterTickets,
}

/// How many tables a guard has.
pub(super) fn table_count(guard: &Guard) -> usize {
    change(0, guard).new_tables().len()
}

fn change(index: u32, guard: &Guard) -> GuardChange {
    GuardChange { index, found: None, desired: Some(guard.clone()) }
}

impl TableTickets {
    /// Creates the tables of a guard, and asks which table is set for a new interface.
    pub(super) fn request(batch: &mut Batch, api: &impl Api, index: u32, guard: &Guard) -> Self {
        let change = change(index, guard);
        let tables = change.new_tables();
        let create = |Table { kind, sessions }: &Table| {
            VppCommand::Filter(FilterCommand::CreateTable { kind: *kind, sessions: sessions.len() })
        };
        let commands: Vec<VppCommand> = tables.iter().map(create).collect();
        let create = CommandBatch::request(batch, api, &commands);
        Self { change, tables, create, set: FilterTickets::request(batch, api, index) }
    }

    /// The tables, and why VPP refused one.
    pub(super) fn read(self, answers: &Answers) -> (CreatedTables, Option<String>) {
        let outcomes = self.create.outcomes(answers);
        let created = outcomes.iter().flatten().copied().collect();
        let refusal = outcomes.into_iter().find_map(Result::err).map(|error| error.to_string());
        let has_former = self.set.read(answers).is_some();
        (CreatedTables { change: self.change, tables: self.tables, created, has_former }, refusal)
    }
}

impl CreatedTables {
    /// The change with what was found of a former interface. It filters nothing of this one, which
    /// is not up.
    pub(super) fn after(mut self, former: Option<Filter>) -> Self {
        self.change.found = former.map(|former| Filter { is_effective: false, ..former });
        self
    }

    /// Adds the sessions, sets the first table, and asks for what is set then.
    pub(super) fn request(&self, batch: &mut Batch, api: &impl Api) -> GuardTickets {
        let list: Vec<FilterCommand> =
            fill(&self.tables, &self.created).into_iter().chain(self.change.switch(&self.created)).collect();
        let commands: Vec<VppCommand> = list.iter().cloned().map(VppCommand::Filter).collect();
        let outcomes = CommandBatch::request(batch, api, &commands);
        let index = self.change.index;
        let (first, set) = (self.change.first(&self.created), FilterTickets::request(batch, api, index));
        GuardTickets { index, first, list, outcomes, set }
    }

    /// Filters no longer. What was not set is refused.
    pub(super) fn unset(&self) -> Option<FilterCommand> {
        let index = self.change.index;
        self.created.first().map(|table| FilterCommand::Unset { index, table: *table })
    }

    /// Deletes the tables, which may be no chain yet. What is deleted already is refused.
    pub(super) fn deletion(&self) -> impl Iterator<Item = FilterCommand> {
        self.created.iter().rev().map(|first| FilterCommand::DeleteTables { first: *first })
    }
}

impl GuardTickets {
    /// Why frames are not filtered as they should be, if they are not.
    pub(super) fn refusal(self, answers: &Answers) -> Option<String> {
        let rejected = rejection(&self.list, self.outcomes.outcomes(answers));
        let found = self.set.read(answers).filter(|(index, _)| *index == self.index);
        let is_right = found.is_some_and(|(_, found)| Some(found.first) == self.first && found.is_effective);
        rejected.or_else(|| (!is_right).then(|| NOT_FILTERED.to_owned()))
    }
}
