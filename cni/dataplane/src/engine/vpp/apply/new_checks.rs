//! What interfaces that are created may send and have: in two batches that have other requests as
//! well, while they are down. Pure, except for adding requests to batches.

use super::guards::unguardable;
use super::new_guards::{CreatedTables, GuardTickets, TableTickets};
use crate::engine::error::EngineError;
use crate::engine::vpp::command::VppCommand;
use crate::engine::vpp::filter_command::FilterCommand;
use crate::engine::vpp::policy::{ClosedTickets, ListTicket, unenforceable};
use crate::model::port::DesiredPort;
use usnet_vpp::{Answers, Api, Batch};

/// What is created before interfaces refer to it: for the first batch.
pub(super) struct PreparationTickets {
    tables: Option<TableTickets>,
    list: Option<ListTicket>,
}

/// What an interface is about to refer to.
#[derive(Debug, Default)]
pub(super) struct Preparation {
    pub(super) tables: Option<CreatedTables>,
    closed_by: Option<u32>,
}

/// What an interface refers to: in the second batch.
pub(super) struct CheckTickets {
    guard: Option<GuardTickets>,
    closed: Option<ClosedTickets>,
}

impl PreparationTickets {
    /// Returns why this VPP cannot check the port.
    pub(super) fn request(batch: &mut Batch, api: &impl Api, index: u32, port: &DesiredPort) -> Result<Self, String> {
        let (guard, is_closed) = (port.settings.guard.as_ref(), port.creation.is_closed);
        let reason = guard.and_then(|_| unguardable(api));
        if let Some(reason) = reason.or_else(|| is_closed.then(|| unenforceable(api)).flatten()) {
            return Err(reason);
        }
        let tables = guard.map(|guard| TableTickets::request(batch, api, index, guard));
        Ok(Self { tables, list: is_closed.then(|| ListTicket::request(batch)) })
    }

    /// What was created, and what VPP refused.
    pub(super) fn read(self, answers: &Answers) -> (Preparation, Option<String>) {
        let (tables, refusal) = self.tables.map(|tables| tables.read(answers)).unzip();
        let (closed_by, reason) = match self.list.map(|list| list.read(answers)).transpose() {
            Ok(closed_by) => (closed_by, None),
            Err(reason) => (None, Some(reason)),
        };
        (Preparation { tables, closed_by }, refusal.flatten().or(reason))
    }
}

impl Preparation {
    /// Has an interface refer to it.
    pub(super) fn request(&self, batch: &mut Batch, api: &impl Api, index: u32) -> CheckTickets {
        CheckTickets {
            guard: self.tables.as_ref().map(|tables| tables.request(batch, api)),
            closed: self.closed_by.map(|acl| ClosedTickets::request(batch, index, acl)),
        }
    }

    /// Has an interface no longer filter by the tables, which its index would keep.
    pub(super) fn unset(&self) -> Option<FilterCommand> {
        self.tables.as_ref().and_then(CreatedTables::unset)
    }

    /// Deletes it after the interface, with which its access lists go.
    pub(super) fn deletion(&self) -> Vec<VppCommand> {
        let tables = self.tables.iter().flat_map(CreatedTables::deletion).map(VppCommand::Filter);
        tables.chain(self.closed_by.map(|index| VppCommand::DeleteAcl { index })).collect()
    }
}

impl CheckTickets {
    /// Why the interface is not checked as it should be, if it is not.
    pub(super) fn refusal(self, answers: &Answers) -> Result<Option<String>, EngineError> {
        let guard = self.guard.and_then(|guard| guard.refusal(answers));
        let closed = self.closed.map(|closed| closed.refusal(answers)).transpose()?.flatten();
        Ok(guard.or(closed))
    }
}
