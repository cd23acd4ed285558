//! The parts of a list, and retries of what conflicts with other clients.

use super::create_ports;
use super::failure::{Failure, Failures, failure};
use super::guards;
use crate::engine::committed::Committed;
use crate::engine::error::{EngineError, OpError};
use crate::engine::vpp::command::{self, VppCommand};
use crate::engine::vpp::guard::GuardChange;
use crate::engine::vpp::plan_op::{
    Claims, Context, Decision, NewPort, Origin, only_domains, plan_op, remove_single_interface,
};
use crate::engine::vpp::ports::{NewInterface, missing_tunnels};
use crate::engine::vpp::qos::LimitSupport;
use crate::engine::vpp::routing;
use crate::engine::vpp::snapshot::VppSnapshot;
use crate::model::memif::MemifSocketIds;
use crate::model::owner::Owner;
use crate::model::port::DesiredPort;
use crate::plan::{Op, RoutingOp};
use std::collections::BTreeSet;
use usnet_vpp::Api;

/// How often an operation is retried if other clients change what it depends on.
const ATTEMPTS: usize = 4;

/// Parts of a list that can be applied together: no operation in a part depends on another one of
/// it.
fn parts(operations: &[Op]) -> impl Iterator<Item = &[Op]> {
    operations.chunk_by(|first, second| kind(first) == kind(second))
}

fn kind(operation: &Op) -> u8 {
    match operation {
        Op::RemovePort { .. } => 0,
        Op::RemoveBridge { .. } => 1,
        Op::CreateBridge { .. } | Op::UpdateBridge { .. } => 2,
        Op::UpdatePort { .. } => 3,
        Op::TakeOverBridge { .. } => 12,
        Op::TakeOverPort { .. } => 13,
        Op::CreatePort { port } => match &port.owner.owner {
            Owner::Attachment(_) | Owner::Network(_) => 3,
            Owner::Patch(_) => 8,
            Owner::Tunnel(_) => 9,
            Owner::Nic(_) => 11,
        },
        Op::Routing(RoutingOp::RemoveGateway { .. }) => 4,
        Op::Routing(RoutingOp::RemoveTable { .. }) => 5,
        Op::Routing(RoutingOp::CreateTable { .. }) => 6,
        Op::Routing(RoutingOp::SetGateway { .. }) => 7,
        Op::SetAddress { .. } => 10,
    }
}

/// The commands, ports to create and failures of a part.
#[derive(Debug, Default)]
struct Work<'a> {
    commands: Vec<(usize, VppCommand)>,
    ports: Vec<(usize, NewPort<'a>)>,
    /// Changes of guards, each with the commands that follow it.
    guards: Vec<(usize, Box<GuardChange>, Vec<VppCommand>)>,
    /// Operations that are to be planned again, unless a command fails.
    unfinished: Failures,
    failures: Failures,
}

impl<'a> Work<'a> {
    fn plan(part: &'a [Op], pending: &BTreeSet<usize>, context: Context<'_>) -> Self {
        let (mut work, mut claims) = (Self::default(), Claims::default());
        let pending = part.iter().enumerate().filter(|(position, _)| pending.contains(position));
        for (position, operation) in pending {
            match plan_op(operation, context, &mut claims) {
                Decision::NoOp => {}
                Decision::Reject(error) => drop(work.failures.insert(position, error.into())),
                Decision::Apply(commands) => {
                    work.commands.extend(commands.into_iter().map(|command| (position, command)));
                }
                Decision::Continue(commands, error) => {
                    work.commands.extend(commands.into_iter().map(|command| (position, command)));
                    work.unfinished.insert(position, Failure { error, is_conflict: true });
                }
                Decision::Guard(commands, change, last) => {
                    work.commands.extend(commands.into_iter().map(|command| (position, command)));
                    work.guards.push((position, change, last));
                }
                Decision::Create(port) => work.ports.push((position, port)),
            }
        }
        work
    }

    /// Whether this is a single new port.
    fn is_single_new_port(&self) -> bool {
        let is_new = |port: &NewPort<'_>| matches!(port.origin, Origin::New(_));
        matches!(self.ports.as_slice(), [(_, port)] if is_new(port))
    }
}

pub(in crate::engine::vpp) async fn apply(
    api: &mut (impl Api + Send),
    socket_ids: MemifSocketIds,
    operations: &[Op],
) -> Result<Committed, EngineError> {
    let missing_devices = NewInterface::missing_message_of_devices(api);
    let missing_tunnels = missing_tunnels(api);
    let mut session = ApplySession { api, socket_ids, missing_devices, missing_tunnels, created: None };
    let mut results = Vec::with_capacity(operations.len());
    let is_single = operations.len() == 1;
    for part in parts(operations) {
        results.extend(session.apply_part(part, is_single).await?);
    }
    let interface_index = session.created.filter(|_| is_single);
    Ok(Committed { interface_index, ..Committed::applied(results) })
}

/// The API, and the memif socket ids that usnet owns.
struct ApplySession<'a, A> {
    api: &'a mut A,
    socket_ids: MemifSocketIds,
    /// Why there are no interfaces on devices of the kernel.
    missing_devices: Option<String>,
    /// Why there are no VXLAN tunnels.
    missing_tunnels: Option<String>,
    /// The index of the interface that was created last, if it was created alone.
    created: Option<u32>,
}

impl<A: Api + Send> ApplySession<'_, A> {
    /// Applies the operations of one part. A single port, as in an ADD or DEL, is created or
    /// deleted without reading all interfaces first.
    async fn apply_part(&mut self, part: &[Op], is_single: bool) -> Result<Vec<Result<(), OpError>>, EngineError> {
        let mut pending: BTreeSet<usize> = (0..part.len()).collect();
        let mut failures = Failures::new();
        for attempt in 1..=ATTEMPTS {
            failures.retain(|position, _| !pending.contains(position));
            let done = if is_single && attempt == 1 { self.apply_without_all(part).await? } else { None };
            let mut failed = match done {
                Some(failed) => failed,
                None => self.read_and_apply(part, &pending).await?,
            };
            pending = failed.iter().filter(|(_, failure)| failure.is_conflict).map(|(position, _)| *position).collect();
            failures.append(&mut failed);
            if pending.is_empty() {
                break;
            }
        }
        Ok((0..part.len())
            .map(|position| failures.remove(&position).map_or(Ok(()), |failure| Err(failure.error)))
            .collect())
    }

    async fn read_and_apply(&mut self, part: &[Op], pending: &BTreeSet<usize>) -> Result<Failures, EngineError> {
        let snapshot = match only_domains(part) {
            Some(ids) => VppSnapshot::read_domains(self.api, &ids).await?,
            None => None,
        };
        let mut snapshot = match snapshot {
            Some(snapshot) => snapshot,
            None => VppSnapshot::read(self.api).await?,
        };
        if part.iter().any(|operation| matches!(operation, Op::Routing(RoutingOp::RemoveTable { .. }))) {
            let interfaces = snapshot.interfaces.iter().map(|(index, interface)| (*index, interface.name.clone()));
            routing::read_bindings(self.api, &mut snapshot.routing, interfaces.collect()).await?;
        }
        if part.iter().any(|operation| matches!(operation, Op::RemovePort { .. })) {
            snapshot.read_acls(self.api).await?;
        }
        let work = Work::plan(part, pending, self.context(&snapshot));
        let orphans = snapshot.orphaned_policers().map(|policer| VppCommand::DeletePolicer { name: policer.name() });
        self.execute(part, work, orphans.collect()).await
    }

    /// Applies a single operation if the few objects that it needs are as they usually are;
    /// otherwise returns `None` and changes nothing.
    async fn apply_without_all(&mut self, part: &[Op]) -> Result<Option<Failures>, EngineError> {
        match part {
            [Op::CreatePort { port }] if port.owner.attachment().is_some() => {
                self.create_port_fast_path(part, port).await
            }
            [operation @ Op::RemovePort { .. }] => self.remove_port_fast_path(part, operation).await,
            _ => Ok(None),
        }
    }

    /// Creates a port if its bridge domain exists and its socket is new.
    async fn create_port_fast_path(
        &mut self,
        part: &[Op],
        port: &DesiredPort,
    ) -> Result<Option<Failures>, EngineError> {
        if port.backend.is_routed() {
            return Ok(None);
        }
        let domain = port.bridge_name().and_then(|bridge| bridge.as_str().parse().ok());
        let Some(domain) = domain else { return Ok(None) };
        let (snapshot, sockets) = VppSnapshot::read_for(self.api, domain, &port.backend, self.socket_ids).await?;
        let work = Work::plan(part, &BTreeSet::from([0]), self.context(&snapshot));
        if !work.is_single_new_port() || sockets.contains(&port.backend.endpoint_name()) {
            return Ok(None);
        }
        self.execute(part, work, Vec::new()).await.map(Some)
    }

    /// Deletes a port whose interface still has the index that it was created with. Second
    /// interfaces of the same owner, which only other clients could have added, are left to the
    /// agent.
    async fn remove_port_fast_path(&mut self, part: &[Op], operation: &Op) -> Result<Option<Failures>, EngineError> {
        let Op::RemovePort { bridge: Some(bridge), port, owner, backend: Some(backend), interface_index } = operation
        else {
            return Ok(None);
        };
        let (Some(index), Ok(domain)) = (*interface_index, bridge.parse()) else { return Ok(None) };
        let snapshot = VppSnapshot::read_port(self.api, index, domain, backend).await?;
        let Some(commands) = remove_single_interface(&snapshot, index, port, &owner.owner) else { return Ok(None) };
        let commands = commands.into_iter().map(|command| (0, command)).collect();
        self.execute(part, Work { commands, ..Work::default() }, Vec::new()).await.map(Some)
    }

    fn context<'a>(&'a self, snapshot: &'a VppSnapshot) -> Context<'a> {
        Context {
            snapshot,
            own_socket_ids: self.socket_ids,
            limits: LimitSupport::of(self.api),
            missing_devices: self.missing_devices.as_deref(),
            missing_tunnels: self.missing_tunnels.as_deref(),
        }
    }

    /// Failures to delete orphans are ignored: the next call retries.
    async fn execute(
        &mut self,
        part: &[Op],
        work: Work<'_>,
        orphans: Vec<VppCommand>,
    ) -> Result<Failures, EngineError> {
        let Work { commands, ports, guards, unfinished, mut failures } = work;
        let all = commands.iter().map(|(_, command)| command).chain(&orphans);
        let outcomes = command::send(self.api, all).await?;
        for ((position, command), outcome) in commands.iter().zip(outcomes) {
            let failure = outcome.err().and_then(|error| failure(part.get(*position)?, command, error));
            if let Some(failure) = failure {
                failures.entry(*position).or_insert(failure);
            }
        }
        for (position, failure) in unfinished {
            failures.entry(position).or_insert(failure);
        }
        for (position, change, last) in
            guards.into_iter().filter(|(position, ..)| !failures.contains_key(position)).collect::<Vec<_>>()
        {
            if let Some(failure) = self.change_guard(part.get(position), &change, &last).await? {
                failures.insert(position, failure);
            }
        }
        let mut created = create_ports::create_ports(self.api, part, ports).await?;
        self.created = created.index;
        failures.append(&mut created.failures);
        Ok(failures)
    }

    /// Changes the guard of a port that exists, and sends the commands that follow.
    async fn change_guard(
        &mut self,
        operation: Option<&Op>,
        change: &GuardChange,
        last: &[VppCommand],
    ) -> Result<Option<Failure>, EngineError> {
        let Some(operation) = operation else { return Ok(None) };
        if let Err(reason) = guards::apply(self.api, change).await? {
            return Ok(Some(OpError::Refused { what: operation.subject(), reason }.into()));
        }
        let outcomes = command::send(self.api, last).await?;
        let mut failed = last.iter().zip(outcomes).filter_map(|(command, outcome)| Some((command, outcome.err()?)));
        Ok(failed.find_map(|(command, error)| failure(operation, command, error)))
    }
}
