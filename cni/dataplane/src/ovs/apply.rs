//! How a list of operations gets done: in one transaction if nothing is in the way.
//!
//! If something is, the rows are read and each operation is looked at alone; what is done already or cannot be done drops out, and the rest
//! is tried again. If the database refuses even then and does not say which operation it means, the list is halved until it is found.

use super::OpenVswitch;
use super::batch::Batch;
use super::decide::{Decision, decide, plan_optimistic};
use super::snapshot::OvsSnapshot;
use super::verify::Queries;
use crate::engine::{EngineError, OpError};
use crate::plan::Op;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use usnet_ovsdb::{Database, Error, ErrorCode, Transaction, TransactionError};

/// What each further operation may add to the time in which the switch has to act: it deletes about 40 bridges in a second.
const TIMEOUT_PER_OPERATION: Duration = Duration::from_millis(100);

/// Parts of a list that can be one transaction each.
///
/// A name that is removed and made again needs two: the switch compares configurations, and a port of the same name would be the same
/// port for it, with the socket that it had before.
pub(super) fn phases(operations: &[Op]) -> Vec<&[Op]> {
    let (mut phases, mut rest) = (Vec::new(), operations);
    while !rest.is_empty() {
        let mut removed = BTreeSet::new();
        let is_new = |operation: &&Op| {
            removed.extend(removed_name(operation).map(str::to_owned));
            !created_name(operation).is_some_and(|name| removed.contains(name))
        };
        let (phase, later) = rest.split_at(rest.iter().take_while(is_new).count());
        phases.push(phase);
        rest = later;
    }
    phases
}

fn removed_name(operation: &Op) -> Option<&str> {
    match operation {
        Op::RemovePort { port, .. } => Some(port.as_str()),
        Op::RemoveBridge { bridge, .. } => Some(bridge),
        Op::CreateBridge { .. } | Op::UpdateBridge { .. } | Op::CreatePort { .. } | Op::UpdatePort { .. } => None,
    }
}

fn created_name(operation: &Op) -> Option<&str> {
    match operation {
        Op::CreateBridge { bridge, .. } => Some(bridge.name.as_str()),
        Op::CreatePort { port, .. } => Some(port.name.as_str()),
        Op::RemovePort { .. } | Op::RemoveBridge { .. } | Op::UpdateBridge { .. } | Op::UpdatePort { .. } => None,
    }
}

/// One phase under way.
struct Phase<'a> {
    operations: &'a [Op],
    failures: BTreeMap<usize, OpError>,
    /// Lists of places in `operations` that are still to be done, the next one at the end.
    groups: Vec<Vec<usize>>,
    /// The configuration that the switch must have seen.
    next_cfg: Option<i64>,
}

impl<'a> Phase<'a> {
    fn new(operations: &'a [Op]) -> Self {
        Self { operations, failures: BTreeMap::new(), groups: vec![(0..operations.len()).collect()], next_cfg: None }
    }

    /// The transaction for a group, and the places of the operations that are in it. Without rows nothing is taken to be in the way.
    fn prepare(&mut self, group: &[usize], snapshot: Option<&OvsSnapshot>) -> (Batch, Vec<usize>) {
        let (mut batch, mut places) = (Batch::default(), Vec::new());
        for (place, operation) in self.numbered(group) {
            let decision = match snapshot {
                Some(snapshot) => decide(operation, snapshot),
                None => plan_optimistic(operation).map_or(Decision::NoOp, Decision::Apply),
            };
            match decision {
                Decision::NoOp => {}
                Decision::Reject(error) => drop(self.failures.insert(place, error)),
                Decision::Apply(action) => {
                    batch.add(place, &action);
                    places.push(place);
                }
            }
        }
        (batch, places)
    }

    fn numbered<'b>(&self, group: &'b [usize]) -> impl Iterator<Item = (usize, &'a Op)> + use<'a, 'b> {
        let operations = self.operations;
        group.iter().filter_map(move |place| operations.get(*place).map(|operation| (*place, operation)))
    }

    /// Draws the conclusion from a transaction that failed although the rows had been read just before.
    fn conclude(&mut self, error: &TransactionError, batch: &Batch, mut places: Vec<usize>) {
        let blamed = match error {
            TransactionError::Operation { index, .. } => batch.blame(*index),
            _ => None,
        };
        let alone = if let [place] = places.as_slice() { Some((*place, None)) } else { None };
        let Some((place, meaning)) = blamed.or(alone) else {
            let second_half = places.split_off(places.len() / 2);
            self.groups.extend([second_half, places]);
            return;
        };
        let reason = error.database().map_or_else(|| error.to_string(), ToString::to_string);
        let what = self.operations.get(place).map(Op::subject).unwrap_or_default();
        self.failures.insert(place, meaning.unwrap_or(OpError::Refused { what, reason }));
        places.retain(|other| *other != place);
        self.groups.push(places);
    }
}

impl<D: Database + Send> OpenVswitch<D> {
    /// Does the operations of one phase and waits until the switch has acted on them.
    pub(super) async fn apply_phase(&mut self, operations: &[Op]) -> Result<Vec<Result<(), OpError>>, EngineError> {
        let mut phase = Phase::new(operations);
        let mut has_to_read = operations.iter().any(|operation| plan_optimistic(operation).is_none());
        while let Some(group) = phase.groups.pop() {
            let snapshot = if has_to_read { Some(self.read_snapshot().await?) } else { None };
            let (mut batch, places) = phase.prepare(&group, snapshot.as_ref());
            if batch.is_empty() {
                phase.next_cfg = phase.next_cfg.max(snapshot.map(|snapshot| snapshot.next_cfg));
                continue;
            }
            let (transaction, next_cfg) = batch.finish();
            match self.database.transact(transaction).await {
                Ok(reply) => phase.next_cfg = Some(reply.next_cfg(next_cfg)?),
                Err(Error::Transaction { source, .. }) if source.database().is_some() => {
                    if has_to_read {
                        phase.conclude(&source, &batch, places);
                    } else {
                        phase.groups.push(places);
                    }
                }
                Err(error) => return Err(error.into()),
            }
            has_to_read = true;
        }
        self.verify(phase).await
    }

    /// Waits until the switch has seen the configuration, and asks what became of it.
    async fn verify(&mut self, phase: Phase<'_>) -> Result<Vec<Result<(), OpError>>, EngineError> {
        let Phase { operations, mut failures, next_cfg, .. } = phase;
        let numbered = || operations.iter().enumerate();
        if let Some(next_cfg) = next_cfg {
            let further = u32::try_from(operations.len().saturating_sub(1)).unwrap_or(u32::MAX);
            let timeout = self.timeout + TIMEOUT_PER_OPERATION.saturating_mul(further);
            let mut transaction = Transaction::new();
            transaction.wait_for_cur_cfg(next_cfg, timeout);
            let done: Vec<_> = numbered().filter(|(place, _)| !failures.contains_key(place)).collect();
            let queries =
                Queries::add_to(&mut transaction, &done.iter().map(|(_, operation)| *operation).collect::<Vec<_>>());
            let reply = self.database.transact(&transaction).await.map_err(|error| match error.code() {
                Some(ErrorCode::TimedOut) => {
                    EngineError::NotActing { engine: "Open vSwitch", seconds: timeout.as_secs() }
                }
                _ => error.into(),
            })?;
            let answers = queries.answers(&reply)?;
            let verified =
                done.into_iter().filter_map(|(place, operation)| Some((place, answers.verify(operation).err()?)));
            failures.extend(verified.collect::<Vec<_>>());
        }
        Ok(numbered().map(|(place, _)| failures.remove(&place).map_or(Ok(()), Err)).collect())
    }
}

#[cfg(test)]
mod tests;
