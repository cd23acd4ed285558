//! Sets, replaces and removes the tables that filter what a port receives from its pod (IO).
//!
//! Tables are created first, because VPP chooses their indexes; then they get their sessions and
//! are set in one batch, and whether frames are filtered is read back: VPP answers the request with
//! 0 also where it does nothing.

use crate::engine::error::EngineError;
use crate::engine::vpp::command::{self, VppCommand};
use crate::engine::vpp::filter_command::FilterCommand;
use crate::engine::vpp::guard::{GuardChange, Table, fill};
use crate::engine::vpp::request::Outcome;
use crate::engine::vpp::snapshot::Filters;
use usnet_vpp::messages::{ClassifyAddDelTable, L2FlagsGet};
use usnet_vpp::{Api, Message, ReplyError};

/// How many tables VPP may have. Each is two mappings of memory, of which a process has 65,530 by
/// default.
const TABLES_MAX: usize = 29_000;
/// VPP sets nothing for some interfaces, and does not say so.
pub(super) const NOT_FILTERED: &str = "it did not filter by the tables that were set";

/// The first table of the port, if it has a guard now; otherwise the reason why it is not as
/// desired.
pub(super) type Guarded = Result<Option<u32>, String>;

/// Guards an interface of which it is not known what filters it.
pub(super) async fn guard_new(api: &mut impl Api, change: GuardChange) -> Result<Guarded, EngineError> {
    if let Some(reason) = unguardable(api) {
        return Ok(Err(reason));
    }
    let mut filters = Filters::read(api, [change.index]).await?;
    if let Some(reason) = too_many(filters.all_tables.len()) {
        return Ok(Err(reason));
    }
    let found = filters.by_index.remove(&change.index);
    apply(api, &GuardChange { found, ..change }).await
}

/// Why VPP is given no further tables.
pub(super) fn too_many(tables: usize) -> Option<String> {
    (tables > TABLES_MAX).then(|| format!("it has {tables} classifier tables, and more could end it"))
}

/// Why this VPP cannot guard ports: before 26.06 it does not tell whether frames are filtered.
pub(in crate::engine::vpp) fn unguardable(api: &impl Api) -> Option<String> {
    let is_known = api.supports::<ClassifyAddDelTable>() && api.supports::<L2FlagsGet>();
    (!is_known).then(|| format!("it does not know the message {}: antiSpoofing needs VPP 26.06", L2FlagsGet::NAME))
}

/// Changes the guard of an interface.
pub(super) async fn apply(api: &mut impl Api, change: &GuardChange) -> Result<Guarded, EngineError> {
    if let Some(reason) = unguardable(api).filter(|_| change.desired.is_some()) {
        return Ok(Err(reason));
    }
    let tables = change.new_tables();
    let created = match create(api, &tables).await? {
        Ok(created) => created,
        Err(reason) => return Ok(Err(reason)),
    };
    if let Some(reason) = send(api, fill(&tables, &created)).await? {
        delete(api, &created).await?;
        return Ok(Err(reason));
    }
    let reason = match send(api, change.switch(&created)).await? {
        Some(reason) => Some(reason),
        None => refutation(api, change, &created).await?,
    };
    match reason {
        None => Ok(Ok(change.first(&created))),
        Some(reason) => {
            send(api, change.undo(&created)).await?;
            Ok(Err(reason))
        }
    }
}

/// Why frames are not filtered as they should be, if they are not.
async fn refutation(api: &mut impl Api, change: &GuardChange, created: &[u32]) -> Result<Option<String>, EngineError> {
    let set = Filters::read_set(api, [change.index]).await?;
    let found = set.by_index.get(&change.index);
    let is_right = match (found, change.first(created)) {
        (Some(found), Some(first)) => found.first == first && found.is_effective,
        (None, None) => true,
        _ => false,
    };
    Ok((!is_right).then(|| NOT_FILTERED.to_owned()))
}

/// Sends commands, and returns why VPP rejected one.
async fn send(api: &mut impl Api, list: Vec<FilterCommand>) -> Result<Option<String>, EngineError> {
    let outcomes = command::send(api, &commands(list.clone())).await?;
    Ok(rejection(&list, outcomes))
}

/// Why VPP rejected one of these commands.
pub(super) fn rejection(list: &[FilterCommand], outcomes: Vec<Outcome>) -> Option<String> {
    let is_harmless =
        |command: &FilterCommand, error: &ReplyError| error.code().is_some_and(|code| command.is_harmless(code));
    let rejected = list.iter().zip(outcomes).filter_map(|(command, outcome)| Some((command, outcome.err()?)));
    rejected.filter(|(command, error)| !is_harmless(command, error)).map(|(_, error)| error.to_string()).next()
}

async fn create(api: &mut impl Api, tables: &[Table]) -> Result<Result<Vec<u32>, String>, EngineError> {
    let create = tables
        .iter()
        .map(|Table { kind, sessions }| FilterCommand::CreateTable { kind: *kind, sessions: sessions.len() });
    let outcomes = command::send(api, &commands(create.collect())).await?;
    let created: Vec<u32> = outcomes.iter().flatten().copied().collect();
    match outcomes.into_iter().find_map(Result::err) {
        None => Ok(Ok(created)),
        Some(error) => {
            delete(api, &created).await?;
            Ok(Err(error.to_string()))
        }
    }
}

/// Deletes tables that are set nowhere, the last first. What VPP rejects is deleted already.
async fn delete(api: &mut impl Api, created: &[u32]) -> Result<(), EngineError> {
    let delete = created.iter().rev().map(|first| FilterCommand::DeleteTables { first: *first });
    command::send(api, &commands(delete.collect())).await.map(drop)
}

fn commands(list: Vec<FilterCommand>) -> Vec<VppCommand> {
    list.into_iter().map(VppCommand::Filter).collect()
}
