//! Creating ports: sockets, then interfaces, then their configuration, and reading back the result.
//! Failed ports are rolled back.

use super::command::{self, CommandBatch, Outcome, VppCommand};
use super::failure::{Failure, Failures, failure};
use super::plan_op::{NewPort, Origin};
use super::qos::{Policer, detach, policer_commands};
use super::settings::vlan_commands;
use super::snapshot::{BridgeDomain, BridgeDomainTickets, FeatureTickets, Features};
use crate::engine::error::{EngineError, OpError};
use crate::plan::Op;
use usnet_crds::Ownership;
use usnet_vpp::messages::{
    AfPacketCreateV3, AfPacketDump, CreateVhostUserIfV2, MemifCreate, MemifCreateV2, MemifDump,
    SwInterfaceVhostUserDump,
};
use usnet_vpp::{Api, Batch, Message, Remedy};

/// A port under way.
#[derive(Debug)]
struct PortCreation<'a> {
    position: usize,
    operation: &'a Op,
    port: NewPort<'a>,
    /// Whether its socket has its id.
    has_socket_id: bool,
    /// Its interface, once there is one.
    index: Option<u32>,
    /// Whether the bridge domain that it was added to turned out to be implicit.
    joined_implicit_domain: bool,
    failure: Option<Failure>,
}

/// Creates or completes ports, and returns those that failed.
pub(super) async fn create_ports(
    api: &mut impl Api,
    part: &[Op],
    ports: Vec<(usize, NewPort<'_>)>,
) -> Result<Failures, EngineError> {
    let start = |(position, port)| Some(PortCreation::new(position, part.get(position)?, port));
    let mut list: Vec<_> = ports.into_iter().filter_map(start).collect();
    for creation in &mut list {
        creation.failure = missing_message(api, &creation.port.origin).map(|reason| creation.refusal(reason));
    }
    for commands in [PortCreation::socket_commands, PortCreation::interface_commands] {
        let planned = plan(&list, commands);
        let outcomes = command::send(api, planned.iter().flatten()).await?;
        apply_outcomes(&mut list, &planned, outcomes);
    }
    configure(api, &mut list).await?;
    roll_back(api, &list).await?;
    Ok(list.into_iter().filter_map(|creation| Some((creation.position, creation.failure?))).collect())
}

/// The next changes of all that have not failed.
fn plan<'a>(list: &[PortCreation<'a>], commands: fn(&PortCreation<'a>) -> Vec<VppCommand>) -> Vec<Vec<VppCommand>> {
    let of = |creation: &PortCreation<'a>| if creation.failure.is_none() { commands(creation) } else { Vec::new() };
    list.iter().map(of).collect()
}

fn apply_outcomes(list: &mut [PortCreation<'_>], planned: &[Vec<VppCommand>], outcomes: Vec<Outcome>) {
    let mut outcomes = outcomes.into_iter();
    for (creation, commands) in list.iter_mut().zip(planned) {
        for (command, outcome) in commands.iter().zip(outcomes.by_ref()) {
            match outcome {
                Ok(index) if command.creates_interface() => creation.index = Some(index),
                Ok(_) => creation.has_socket_id |= matches!(command, VppCommand::AddMemifSocket { .. }),
                Err(error) => {
                    creation.failure = creation.failure.take().or(failure(creation.operation, command, error));
                }
            }
        }
    }
}

/// Configures the interfaces, and reads them and their bridge domains back: VPP creates a missing
/// bridge domain implicitly, and other clients may have deleted an interface.
async fn configure(api: &mut impl Api, list: &mut [PortCreation<'_>]) -> Result<(), EngineError> {
    let planned = plan(list, PortCreation::configuration_commands);
    let domains =
        list.iter().filter(|creation| creation.failure.is_none()).map(|creation| creation.port.domain).collect();
    let mut batch = Batch::new();
    let commands = CommandBatch::request(&mut batch, api, planned.iter().flatten());
    let domains = BridgeDomainTickets::request(&mut batch, &domains);
    let interfaces = list.iter().filter(|creation| creation.failure.is_none()).filter_map(|creation| creation.index);
    let features = FeatureTickets::request(&mut batch, api, interfaces);
    if batch.is_empty() {
        return Ok(());
    }
    let answers = api.send(&batch).await?;
    apply_outcomes(list, &planned, commands.outcomes(&answers));
    let (domains, features) = (domains.read(&answers)?, features.read(&answers));
    for creation in list.iter_mut().filter(|creation| creation.failure.is_none()) {
        let features = creation.index.and_then(|index| features.get(&index));
        creation.verify(domains.get(&creation.port.domain), features);
    }
    Ok(())
}

/// Deletes what was created for failed ports. What VPP rejects here is deleted already, or in use
/// by others.
async fn roll_back(api: &mut impl Api, list: &[PortCreation<'_>]) -> Result<(), EngineError> {
    let failed = list.iter().filter(|creation| creation.failure.is_some());
    let commands: Vec<_> = failed.flat_map(PortCreation::rollback_commands).collect();
    command::send(api, &commands).await.map(drop)
}

impl<'a> PortCreation<'a> {
    fn new(position: usize, operation: &'a Op, port: NewPort<'a>) -> Self {
        let index = match port.origin {
            Origin::ExistingInterface { index } => Some(index),
            Origin::Memif { .. } | Origin::VhostUser { .. } | Origin::AfPacket { .. } => None,
        };
        Self { position, operation, port, has_socket_id: false, index, joined_implicit_domain: false, failure: None }
    }

    /// Verifies that it is a member of its network's bridge domain now, and is filtered if and only
    /// if it is in a VLAN: the reply to that request is not reliable.
    fn verify(&mut self, domain: Option<&BridgeDomain>, features: Option<&Features>) {
        let is_right = |domain: &BridgeDomain| match self.port.ownership {
            Ownership::Managed => domain.owner.as_ref() == Some(self.port.network),
            // A bridge domain that was deleted in between exists again by now, without a tag: VPP
            // created it implicitly for this port.
            Ownership::Adopted => domain.is_tagged,
        };
        if !domain.is_some_and(is_right) {
            self.joined_implicit_domain = domain.is_some_and(|domain| !domain.is_tagged);
            self.failure = Some(OpError::BridgeMissing { bridge: self.port.domain.to_string() }.into());
        } else if !domain.is_some_and(|domain| self.index.is_some_and(|index| domain.members.contains(&index))) {
            let reason = "somebody else took its interface away".to_owned();
            self.failure = Some(Failure { is_conflict: true, ..self.refusal(reason) });
        } else if features.is_some_and(|features| features.is_filtered != self.port.settings.vlan.is_some()) {
            let reason = "VPP refused to change whether it keeps the frames of other VLANs from it".to_owned();
            self.failure = Some(self.refusal(reason));
        }
    }

    fn refusal(&self, reason: String) -> Failure {
        OpError::Refused { what: self.operation.subject(), reason }.into()
    }

    fn socket_commands(&self) -> Vec<VppCommand> {
        match &self.port.origin {
            Origin::Memif { socket_id, name, unused, .. } => {
                let delete_socket = unused.iter().map(|id| VppCommand::DeleteMemifSocket { id: *id });
                delete_socket.chain([VppCommand::AddMemifSocket { id: *socket_id, name: name.clone() }]).collect()
            }
            Origin::ExistingInterface { .. } | Origin::VhostUser { .. } | Origin::AfPacket { .. } => Vec::new(),
        }
    }

    fn interface_commands(&self) -> Vec<VppCommand> {
        match &self.port.origin {
            Origin::ExistingInterface { .. } => Vec::new(),
            Origin::Memif { socket_id, ring_size, secret, .. } => {
                vec![VppCommand::CreateMemif { socket_id: *socket_id, ring_size: *ring_size, secret: secret.clone() }]
            }
            Origin::VhostUser { path, is_server } => {
                let (path, tag) = (path.clone(), self.port.tag.clone());
                vec![VppCommand::CreateVhostUser { path, is_server: *is_server, tag }]
            }
            Origin::AfPacket { name } => vec![VppCommand::CreateAfPacket { name: name.clone() }],
        }
    }

    /// The tag first, so that an interrupted creation has an owner; admin up last, when all is
    /// configured.
    fn configuration_commands(&self) -> Vec<VppCommand> {
        let Some(index) = self.index else { return Vec::new() };
        let NewPort { name, domain, tag, settings, origin, policers, policed, .. } = &self.port;
        let set_tag =
            (!matches!(origin, Origin::VhostUser { .. })).then(|| VppCommand::SetTag { index, tag: tag.clone() });
        let base =
            [VppCommand::SetMtu { index, mtu: settings.mtu }, VppCommand::AddToBridgeDomain { index, id: *domain }];
        // Also if there is no VLAN: a new interface inherits the rewrite of a previous one with the
        // same index that was in no bridge domain.
        let vlan = vlan_commands(index, settings.vlan.as_ref());
        let limits = policer_commands(policers, name, &settings.rate_limit, (index, *policed));
        let set_admin_up = VppCommand::SetAdminUp { index };
        set_tag.into_iter().chain(base).chain(vlan).chain(limits).chain([set_admin_up]).collect()
    }

    fn rollback_commands(&self) -> Vec<VppCommand> {
        let implicit_domain =
            self.joined_implicit_domain.then_some(VppCommand::DeleteBridgeDomain { id: self.port.domain });
        let delete = self.index.and_then(|index| match &self.port.origin {
            Origin::ExistingInterface { .. } => None,
            Origin::Memif { .. } => Some(VppCommand::DeleteMemif { index }),
            Origin::VhostUser { .. } => Some(VppCommand::DeleteVhostUser { index }),
            Origin::AfPacket { name } => Some(VppCommand::DeleteAfPacket { name: name.clone() }),
        });
        let delete_socket = match &self.port.origin {
            Origin::Memif { socket_id, .. } if self.has_socket_id => {
                Some(VppCommand::DeleteMemifSocket { id: *socket_id })
            }
            _ => None,
        };
        let policers = match &self.port.origin {
            Origin::ExistingInterface { .. } => Vec::new(),
            Origin::Memif { .. } | Origin::VhostUser { .. } | Origin::AfPacket { .. } => {
                Policer::all_of(self.port.name, &self.port.settings.rate_limit)
            }
        };
        // If it was added to no bridge domain, the next interface with its index would inherit its
        // limits.
        let end = policers.iter().filter_map(|policer| Some(detach(policer, self.index?)));
        let remove = policers.iter().map(|policer| VppCommand::DeletePolicer { name: policer.name() });
        end.chain([delete, delete_socket, implicit_domain].into_iter().flatten()).chain(remove).collect()
    }
}

/// Why this VPP does not support this kind of port.
fn missing_message(api: &impl Api, origin: &Origin) -> Option<String> {
    match origin {
        Origin::Memif { .. } if !api.supports::<MemifCreateV2>() && !api.supports::<MemifCreate>() => {
            Some(missing::<MemifCreateV2>(api.supports::<MemifDump>()))
        }
        Origin::VhostUser { .. } if !api.supports::<CreateVhostUserIfV2>() => {
            Some(missing::<CreateVhostUserIfV2>(api.supports::<SwInterfaceVhostUserDump>()))
        }
        Origin::AfPacket { .. } if !api.supports::<AfPacketCreateV3>() => {
            Some(missing::<AfPacketCreateV3>(api.supports::<AfPacketDump>()))
        }
        _ => None,
    }
}

/// An older message of the same plugin distinguishes an old VPP from one without the plugin.
fn missing<M: Message>(has_plugin: bool) -> String {
    let remedy = match M::PLUGIN {
        Some(plugin) if !has_plugin => Remedy::LoadPlugin(plugin),
        _ => Remedy::UseRelease,
    };
    format!("it does not know the message {}; {remedy}", M::NAME)
}
