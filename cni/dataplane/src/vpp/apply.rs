//! How a list of operations gets done.

use super::Vpp;
use super::change::{self, Change};
use super::decide::{Claims, Decision, NewPort, Origin, Situation, decide};
use super::failure::{Failure, failure};
use super::limits::LimitSupport;
use super::make;
use super::shown::Shown;
use crate::engine::{EngineError, OpError};
use crate::plan::Op;
use std::collections::{BTreeMap, BTreeSet};
use usnet_vpp::Api;

/// How often an operation is looked at, as long as somebody else changes what it needs.
const ATTEMPTS: usize = 4;

/// Parts of a list that can be done together: nothing in one depends on what another operation of it does.
pub(super) fn parts(operations: &[Op]) -> impl Iterator<Item = &[Op]> {
    operations.chunk_by(|first, second| kind(first) == kind(second))
}

fn kind(operation: &Op) -> u8 {
    match operation {
        Op::RemovePort { .. } => 0,
        Op::RemoveBridge { .. } => 1,
        Op::CreateBridge { .. } | Op::UpdateBridge { .. } => 2,
        Op::CreatePort { .. } | Op::UpdatePort { .. } => 3,
    }
}

/// An operation that failed, by its place in the part.
pub(super) type Failures = BTreeMap<usize, Failure>;

/// What has to be done for a part.
#[derive(Debug, Default)]
struct Work<'a> {
    changes: Vec<(usize, Change)>,
    ports: Vec<(usize, NewPort<'a>)>,
    failures: Failures,
}

impl<'a> Work<'a> {
    fn decide(part: &'a [Op], pending: &BTreeSet<usize>, situation: Situation<'_>) -> Self {
        let (mut work, mut claims) = (Self::default(), Claims::default());
        let pending = part.iter().enumerate().filter(|(place, _)| pending.contains(place));
        for (place, operation) in pending {
            match decide(operation, situation, &mut claims) {
                Decision::Nothing => {}
                Decision::Refuse(error) => drop(work.failures.insert(place, error.into())),
                Decision::Change(changes) => work.changes.extend(changes.into_iter().map(|change| (place, change))),
                Decision::Make(port) => work.ports.push((place, port)),
            }
        }
        work
    }

    /// Whether this is one new port and nothing else.
    fn is_one_new_port(&self) -> bool {
        let is_new = |port: &NewPort<'_>| !matches!(port.origin, Origin::Found { .. });
        matches!(self.ports.as_slice(), [(_, port)] if is_new(port))
    }
}

impl<A: Api + Send> Vpp<A> {
    /// Does the operations of one part. A port that is alone, as when a pod starts, is made without reading all interfaces before.
    pub(super) async fn apply_part(
        &mut self,
        part: &[Op],
        is_alone: bool,
    ) -> Result<Vec<Result<(), OpError>>, EngineError> {
        let mut pending: BTreeSet<usize> = (0..part.len()).collect();
        let mut failures = Failures::new();
        for attempt in 1..=ATTEMPTS {
            failures.retain(|place, _| !pending.contains(place));
            let mut failed = match part {
                [operation] if is_alone && attempt == 1 => match self.make_quickly(part, operation).await? {
                    Some(failed) => failed,
                    None => self.look_and_do(part, &pending).await?,
                },
                _ => self.look_and_do(part, &pending).await?,
            };
            pending = failed.iter().filter(|(_, failure)| failure.is_conflict).map(|(place, _)| *place).collect();
            failures.append(&mut failed);
            if pending.is_empty() {
                break;
            }
        }
        Ok((0..part.len()).map(|place| failures.remove(&place).map_or(Ok(()), |failure| Err(failure.error))).collect())
    }

    async fn look_and_do(&mut self, part: &[Op], pending: &BTreeSet<usize>) -> Result<Failures, EngineError> {
        let shown = Shown::read(&mut self.api).await?;
        let work = Work::decide(part, pending, self.situation(&shown));
        let orphans = shown.orphaned_policers().map(|policer| Change::DeletePolicer { name: policer.name() });
        self.carry_out(part, work, orphans.collect()).await
    }

    /// Makes a port if its bridge domain is there and its socket is new; none when that is not so, and nothing was done.
    async fn make_quickly(&mut self, part: &[Op], operation: &Op) -> Result<Option<Failures>, EngineError> {
        let Op::CreatePort { port, .. } = operation else { return Ok(None) };
        let Ok(domain) = port.bridge.as_str().parse() else { return Ok(None) };
        let (shown, sockets) = Shown::read_for(&mut self.api, domain, &port.connection).await?;
        let work = Work::decide(part, &BTreeSet::from([0]), self.situation(&shown));
        if !work.is_one_new_port() || sockets.contains(&port.connection.end_name()) {
            return Ok(None);
        }
        self.carry_out(part, work, Vec::new()).await.map(Some)
    }

    fn situation<'a>(&self, shown: &'a Shown) -> Situation<'a> {
        Situation { shown, ours: self.socket_ids, limits: LimitSupport::of(&self.api) }
    }

    /// Whether the orphans are gone nobody has to know: whoever looks next tries again.
    async fn carry_out(&mut self, part: &[Op], work: Work<'_>, orphans: Vec<Change>) -> Result<Failures, EngineError> {
        let Work { changes, ports, mut failures } = work;
        let all = changes.iter().map(|(_, change)| change).chain(&orphans);
        let outcomes = change::send(&mut self.api, all).await?;
        for ((place, change), outcome) in changes.iter().zip(outcomes) {
            let failure = outcome.err().and_then(|error| failure(part.get(*place)?, change, error));
            if let Some(failure) = failure {
                failures.entry(*place).or_insert(failure);
            }
        }
        failures.append(&mut make::make_ports(&mut self.api, part, ports).await?);
        Ok(failures)
    }
}
