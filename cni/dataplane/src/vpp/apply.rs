//! How a list of operations gets done.

use super::Vpp;
use super::command::{self, VppCommand};
use super::create_ports;
use super::decide::{Claims, Context, Decision, NewPort, Origin, decide};
use super::failure::{Failure, failure};
use super::limits::LimitSupport;
use super::snapshot::VppSnapshot;
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
    commands: Vec<(usize, VppCommand)>,
    ports: Vec<(usize, NewPort<'a>)>,
    failures: Failures,
}

impl<'a> Work<'a> {
    fn decide(part: &'a [Op], pending: &BTreeSet<usize>, context: Context<'_>) -> Self {
        let (mut work, mut claims) = (Self::default(), Claims::default());
        let pending = part.iter().enumerate().filter(|(place, _)| pending.contains(place));
        for (place, operation) in pending {
            match decide(operation, context, &mut claims) {
                Decision::NoOp => {}
                Decision::Reject(error) => drop(work.failures.insert(place, error.into())),
                Decision::Apply(commands) => work.commands.extend(commands.into_iter().map(|command| (place, command))),
                Decision::Create(port) => work.ports.push((place, port)),
            }
        }
        work
    }

    /// Whether this is one new port and nothing else.
    fn is_single_new_port(&self) -> bool {
        let is_new = |port: &NewPort<'_>| !matches!(port.origin, Origin::ExistingInterface { .. });
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
                [operation] if is_alone && attempt == 1 => match self.create_port_fast_path(part, operation).await? {
                    Some(failed) => failed,
                    None => self.read_and_apply(part, &pending).await?,
                },
                _ => self.read_and_apply(part, &pending).await?,
            };
            pending = failed.iter().filter(|(_, failure)| failure.is_conflict).map(|(place, _)| *place).collect();
            failures.append(&mut failed);
            if pending.is_empty() {
                break;
            }
        }
        Ok((0..part.len()).map(|place| failures.remove(&place).map_or(Ok(()), |failure| Err(failure.error))).collect())
    }

    async fn read_and_apply(&mut self, part: &[Op], pending: &BTreeSet<usize>) -> Result<Failures, EngineError> {
        let snapshot = VppSnapshot::read(&mut self.api).await?;
        let work = Work::decide(part, pending, self.context(&snapshot));
        let orphans = snapshot.orphaned_policers().map(|policer| VppCommand::DeletePolicer { name: policer.name() });
        self.execute(part, work, orphans.collect()).await
    }

    /// Makes a port if its bridge domain is there and its socket is new; none when that is not so, and nothing was done.
    async fn create_port_fast_path(&mut self, part: &[Op], operation: &Op) -> Result<Option<Failures>, EngineError> {
        let Op::CreatePort { port, .. } = operation else { return Ok(None) };
        let Ok(domain) = port.bridge.as_str().parse() else { return Ok(None) };
        let (snapshot, sockets) = VppSnapshot::read_for(&mut self.api, domain, &port.backend).await?;
        let work = Work::decide(part, &BTreeSet::from([0]), self.context(&snapshot));
        if !work.is_single_new_port() || sockets.contains(&port.backend.endpoint_name()) {
            return Ok(None);
        }
        self.execute(part, work, Vec::new()).await.map(Some)
    }

    fn context<'a>(&self, snapshot: &'a VppSnapshot) -> Context<'a> {
        Context { snapshot, own_socket_ids: self.socket_ids, limits: LimitSupport::of(&self.api) }
    }

    /// Whether the orphans are gone nobody has to know: whoever looks next tries again.
    async fn execute(
        &mut self,
        part: &[Op],
        work: Work<'_>,
        orphans: Vec<VppCommand>,
    ) -> Result<Failures, EngineError> {
        let Work { commands, ports, mut failures } = work;
        let all = commands.iter().map(|(_, command)| command).chain(&orphans);
        let outcomes = command::send(&mut self.api, all).await?;
        for ((place, command), outcome) in commands.iter().zip(outcomes) {
            let failure = outcome.err().and_then(|error| failure(part.get(*place)?, command, error));
            if let Some(failure) = failure {
                failures.entry(*place).or_insert(failure);
            }
        }
        failures.append(&mut create_ports::create_ports(&mut self.api, part, ports).await?);
        Ok(failures)
    }
}
