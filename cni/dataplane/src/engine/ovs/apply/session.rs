//! Transactions until every operation of a list is done or has failed, and the wait for the switch.

use super::batch::Batch;
use super::verify::Queries;
use crate::engine::committed::Committed;
use crate::engine::error::{EngineError, OpError};
use crate::engine::ovs::plan_op::{Decision, plan_op, plan_optimistic};
use crate::engine::ovs::quarantine;
use crate::engine::ovs::snapshot::OvsSnapshot;
use crate::plan::Op;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use usnet_crds::EngineKind;
use usnet_ovsdb::{Database, Error, ErrorCode, Transaction, TransactionError};

/// Additional time for each further operation: the switch deletes about 40 bridges per second.
const TIMEOUT_PER_OPERATION: Duration = Duration::from_millis(100);

/// What a transaction is planned on. Each is tried after the one before it met a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    /// Nothing was read: no conflict is assumed.
    Assumption,
    /// The rows of the operations.
    NamedRows,
    AllRows,
}

impl Basis {
    fn first(operations: &[Op]) -> Self {
        if operations.iter().all(|operation| plan_optimistic(operation).is_some()) {
            Self::Assumption
        } else {
            Self::NamedRows
        }
    }

    fn next(self) -> Self {
        match self {
            Self::Assumption => Self::NamedRows,
            Self::NamedRows | Self::AllRows => Self::AllRows,
        }
    }
}

/// Parts of a list that can be one transaction each.
///
/// A name that is deleted and created again needs two: the switch compares configurations, and
/// would take a port of the same name for the same port and keep its previous socket.
pub(super) fn phases(operations: &[Op]) -> Vec<&[Op]> {
    let (mut phases, mut rest) = (Vec::new(), operations);
    while !rest.is_empty() {
        let mut removed = BTreeSet::new();
        let is_new = |operation: &&Op| {
            removed.extend(removed_names(operation).into_iter().map(str::to_owned));
            !created_names(operation).into_iter().any(|name| removed.contains(name))
        };
        let (phase, later) = rest.split_at(rest.iter().take_while(is_new).count());
        phases.push(phase);
        rest = later;
    }
    phases
}

/// Those of interfaces too: a NIC may leave a bond and become a port, or the other way round.
fn removed_names(operation: &Op) -> Vec<&str> {
    match operation {
        Op::RemovePort { port, backend, .. } => {
            let interfaces = backend.as_ref().map_or_else(Vec::new, |backend| backend.interface_names(port));
            interfaces.into_iter().chain([port.as_str()]).collect()
        }
        Op::RemoveBridge { bridge, .. } => vec![bridge],
        _ => Vec::new(),
    }
}

fn created_names(operation: &Op) -> Vec<&str> {
    match operation {
        Op::CreateBridge { bridge } => vec![bridge.name().as_str()],
        Op::CreatePort { port } => {
            let interfaces = port.backend.interface_names(&port.name);
            port.ends().map(|port| port.name.as_str()).chain(interfaces).collect()
        }
        _ => Vec::new(),
    }
}

/// The progress of one phase.
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

    /// The transaction for a group, and the places of its operations. Without a snapshot no
    /// conflict is assumed.
    fn prepare(
        &mut self,
        group: &[usize],
        snapshot: Option<&OvsSnapshot>,
        quarantine: &BTreeSet<String>,
    ) -> (Batch, Vec<usize>) {
        let (mut batch, mut positions) = (Batch::new(quarantine.clone()), Vec::new());
        for (position, operation) in self.numbered(group) {
            let decision = match snapshot {
                Some(snapshot) => plan_op(operation, snapshot),
                None => plan_optimistic(operation).map_or(Decision::NoOp, Decision::Apply),
            };
            match decision {
                Decision::NoOp => {}
                Decision::Reject(error) => drop(self.failures.insert(position, error)),
                Decision::Apply(action) => {
                    batch.add(position, &action);
                    positions.push(position);
                }
            }
        }
        (batch, positions)
    }

    /// The operations of a group.
    fn operations_of(&self, group: &[usize]) -> Vec<&'a Op> {
        self.numbered(group).map(|(_, operation)| operation).collect()
    }

    fn numbered<'b>(&self, group: &'b [usize]) -> impl Iterator<Item = (usize, &'a Op)> + use<'a, 'b> {
        let operations = self.operations;
        group.iter().filter_map(move |position| operations.get(*position).map(|operation| (*position, operation)))
    }

    /// Handles a transaction that failed although the rows had been read just before.
    fn conclude(&mut self, error: &TransactionError, batch: &Batch, mut positions: Vec<usize>) {
        let blamed = match error {
            TransactionError::Operation { index, .. } => batch.blame(*index),
            _ => None,
        };
        let single = if let [position] = positions.as_slice() { Some((*position, None)) } else { None };
        let Some((position, guard_error)) = blamed.or(single) else {
            let second_half = positions.split_off(positions.len() / 2);
            self.groups.extend([second_half, positions]);
            return;
        };
        let reason = error.database().map_or_else(|| error.to_string(), ToString::to_string);
        let what = self.operations.get(position).map(Op::subject).unwrap_or_default();
        self.failures.insert(position, guard_error.unwrap_or(OpError::Refused { what, reason }));
        positions.retain(|other| *other != position);
        self.groups.push(positions);
    }
}

/// Applies operations in order. `timeout` is how long the switch may take for one operation.
pub(in crate::engine::ovs) async fn apply(
    database: &mut (impl Database + Send),
    timeout: Duration,
    operations: &[Op],
) -> Result<Vec<Result<(), OpError>>, EngineError> {
    let quarantine = quarantine::bridges(database, operations).await?;
    let mut session = ApplySession { database, timeout, quarantine };
    let mut results = Vec::with_capacity(operations.len());
    for phase in phases(operations) {
        let committed = session.commit(phase).await?;
        results.extend(session.complete(phase, committed).await?);
    }
    Ok(results)
}

/// Commits operations without waiting for the switch, except between two transactions that it must
/// not see at once.
pub(in crate::engine::ovs) async fn commit(
    database: &mut (impl Database + Send),
    timeout: Duration,
    operations: &[Op],
) -> Result<Committed, EngineError> {
    match phases(operations).as_slice() {
        [phase] => {
            let quarantine = quarantine::bridges(database, operations).await?;
            ApplySession { database, timeout, quarantine }.commit(phase).await
        }
        _ => Ok(Committed::applied(apply(database, timeout, operations).await?)),
    }
}

/// Waits until the switch has applied what was committed.
pub(in crate::engine::ovs) async fn complete(
    database: &mut (impl Database + Send),
    timeout: Duration,
    operations: &[Op],
    committed: Committed,
) -> Result<Vec<Result<(), OpError>>, EngineError> {
    ApplySession { database, timeout, quarantine: BTreeSet::new() }.complete(operations, committed).await
}

/// The database, and how long the switch may take for one operation.
struct ApplySession<'a, D> {
    database: &'a mut D,
    timeout: Duration,
    /// Bridges to whose new ports nothing may be flooded.
    quarantine: BTreeSet<String>,
}

impl<D: Database + Send> ApplySession<'_, D> {
    /// Commits the operations of one phase.
    async fn commit(&mut self, operations: &[Op]) -> Result<Committed, EngineError> {
        let mut phase = Phase::new(operations);
        let mut basis = Basis::first(operations);
        while let Some(group) = phase.groups.pop() {
            let snapshot = self.read(&mut basis, &phase.operations_of(&group)).await?;
            let (mut batch, positions) = phase.prepare(&group, snapshot.as_ref(), &self.quarantine);
            if batch.is_empty() {
                phase.next_cfg = phase.next_cfg.max(snapshot.map(|snapshot| snapshot.next_cfg));
                continue;
            }
            let (transaction, next_cfg) = batch.finish();
            match self.database.transact(transaction).await {
                Ok(reply) => phase.next_cfg = Some(reply.next_cfg(next_cfg)?),
                Err(Error::Transaction { source, .. }) if source.database().is_some() => {
                    if basis == Basis::AllRows {
                        phase.conclude(&source, &batch, positions);
                    } else {
                        phase.groups.push(positions);
                    }
                }
                Err(error) => return Err(error.into()),
            }
            basis = basis.next();
        }
        let Phase { mut failures, next_cfg, .. } = phase;
        let results = (0..operations.len()).map(|position| failures.remove(&position).map_or(Ok(()), Err)).collect();
        Ok(Committed { results, interface_index: None, configuration: next_cfg })
    }

    /// The rows of a basis; the basis is the one that they are.
    async fn read(&mut self, basis: &mut Basis, operations: &[&Op]) -> Result<Option<OvsSnapshot>, EngineError> {
        if *basis == Basis::Assumption {
            return Ok(None);
        }
        if *basis == Basis::NamedRows
            && OvsSnapshot::can_read_named(operations)
            && let Some(rows) = OvsSnapshot::read_named(self.database, operations).await?
        {
            return Ok(Some(rows));
        }
        *basis = Basis::AllRows;
        OvsSnapshot::read(self.database).await.map(Some)
    }

    /// Waits until the switch has applied the configuration, and verifies the result.
    async fn complete(
        &mut self,
        operations: &[Op],
        committed: Committed,
    ) -> Result<Vec<Result<(), OpError>>, EngineError> {
        let Some(next_cfg) = committed.configuration else { return Ok(committed.results) };
        let mut results = committed.results;
        let further = u32::try_from(operations.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let timeout = self.timeout + TIMEOUT_PER_OPERATION.saturating_mul(further);
        let mut transaction = Transaction::new();
        transaction.wait_for_cur_cfg(next_cfg, timeout);
        let done: Vec<_> = operations.iter().zip(&mut results).filter(|(_, result)| result.is_ok()).collect();
        let queries =
            Queries::add_to(&mut transaction, &done.iter().map(|(operation, _)| *operation).collect::<Vec<_>>());
        let reply = self.database.transact(&transaction).await.map_err(|error| match error.code() {
            Some(ErrorCode::TimedOut) => {
                EngineError::NotActing { engine: EngineKind::OpenVswitch, seconds: timeout.as_secs() }
            }
            _ => error.into(),
        })?;
        let answers = queries.answers(&reply)?;
        for (operation, result) in done {
            *result = answers.verify(operation);
        }
        Ok(results)
    }
}
