//! Sending commands: each is one request, and many are one batch.

use super::requests;
use super::vpp_command::VppCommand;
use crate::engine::error::EngineError;
use crate::engine::vpp::request::{Find, Outcome, add};
use usnet_vpp::messages::{AclDel, IfStatusFlags, PolicerAddDel, SwInterfaceSetFlags, SwInterfaceTagAddDel};
use usnet_vpp::{Answers, Api, Batch};

pub(in crate::engine::vpp) struct CommandBatch(Vec<Find>);

impl CommandBatch {
    /// Adds changes to a batch, in this order.
    pub(in crate::engine::vpp) fn request<'a>(
        batch: &mut Batch,
        api: &impl Api,
        commands: impl IntoIterator<Item = &'a VppCommand>,
    ) -> Self {
        Self(commands.into_iter().map(|command| add_to(batch, api, command)).collect())
    }

    pub(in crate::engine::vpp) fn outcomes(&self, answers: &Answers) -> Vec<Outcome> {
        self.0.iter().map(|find| find(answers)).collect()
    }
}

/// Sends commands in this order in one batch, and returns an outcome for each.
pub(in crate::engine::vpp) async fn send<'a>(
    api: &mut impl Api,
    commands: impl IntoIterator<Item = &'a VppCommand>,
) -> Result<Vec<Outcome>, EngineError> {
    let mut batch = Batch::new();
    let commands = CommandBatch::request(&mut batch, api, commands);
    if batch.is_empty() {
        return Ok(Vec::new());
    }
    Ok(commands.outcomes(&api.send(&batch).await?))
}

/// Adds the request of a command to a batch.
fn add_to(batch: &mut Batch, api: &impl Api, command: &VppCommand) -> Find {
    match command {
        VppCommand::CreateBridgeDomain(request) => requests::add_bridge_domain(batch, api, request.clone()),
        VppCommand::DeleteBridgeDomain { id } => requests::delete_bridge_domain(batch, api, *id),
        VppCommand::Bridge(command) => command.add_to(batch),
        VppCommand::PortSetting(command) => command.add_to(batch),
        VppCommand::Port(command) => command.add_to(batch, api),
        VppCommand::SubInterface(command) => command.add_to(batch),
        VppCommand::Tunnel(command) => command.add_to(batch),
        VppCommand::Routing(command) => command.add_to(batch),
        VppCommand::Filter(command) => command.add_to(batch),
        VppCommand::DeleteAcl { index } => add(batch, AclDel { acl_index: *index }),
        VppCommand::StopSpan(request) => add(batch, request.clone()),
        VppCommand::SetTag { index, tag } => {
            add(batch, SwInterfaceTagAddDel { is_add: true, sw_if_index: *index, tag: tag.clone() })
        }
        VppCommand::AddPolicer { policer } => add(batch, policer.request()),
        VppCommand::DeletePolicer { name } => {
            add(batch, PolicerAddDel { is_add: false, name: name.clone(), ..PolicerAddDel::default() })
        }
        VppCommand::AttachPolicer { index, policer, direction, apply } => {
            requests::attach_policer(batch, *index, policer, *direction, *apply)
        }
        VppCommand::SetAdminUp { index } => {
            add(batch, SwInterfaceSetFlags { sw_if_index: *index, flags: IfStatusFlags::ADMIN_UP })
        }
        VppCommand::SetAdminDown { index } => {
            add(batch, SwInterfaceSetFlags { sw_if_index: *index, flags: IfStatusFlags::default() })
        }
        VppCommand::AddToBridgeDomain { index, id } => add(batch, requests::membership(*index, *id, true)),
        VppCommand::RemoveFromBridgeDomain { index, id } => add(batch, requests::membership(*index, *id, false)),
    }
}
