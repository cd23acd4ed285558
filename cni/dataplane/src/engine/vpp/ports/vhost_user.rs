//! Vhost-user: virtio queues behind a unix socket, on which VPP listens or to which it connects.

use super::missing::missing;
use super::traits::{ExistingInterface, InterfaceCommand, InterfaceToCreate};
use crate::engine::error::EngineError;
use crate::engine::vpp::request::{Find, add, add_with};
use crate::engine::vpp::tags::Tag;
use crate::model::port::{PortBackend, SocketPath};
use std::path::PathBuf;
use usnet_crds::SocketRole;
use usnet_vpp::messages::{
    CreateVhostUserIfV2, DeleteVhostUserIf, NO_INTERFACE, SwInterfaceVhostUserDetails, SwInterfaceVhostUserDump,
};
use usnet_vpp::wire::{FixedText, TextError};
use usnet_vpp::{Answers, Api, Batch, DumpTicket};

/// The path of a socket.
type Path = FixedText<256>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct VhostUserInterface {
    socket: String,
    is_server: bool,
}

impl VhostUserInterface {
    fn new(details: &SwInterfaceVhostUserDetails) -> Self {
        Self { socket: details.sock_filename.to_string(), is_server: details.is_server }
    }

    /// An interface that usnet created on this socket.
    pub(super) fn recognise(kind: &str, socket: String, engine_role: SocketRole) -> Option<Self> {
        (kind == "vhost-user").then_some(Self { socket, is_server: engine_role == SocketRole::Server })
    }
}

impl ExistingInterface for VhostUserInterface {
    type Command = VhostUserCommand;

    fn endpoint(&self) -> &str {
        &self.socket
    }

    fn backend(&self) -> Option<PortBackend> {
        let engine_role = if self.is_server { SocketRole::Server } else { SocketRole::Client };
        Some(PortBackend::VhostUser { socket: SocketPath::try_from(PathBuf::from(&self.socket)).ok()?, engine_role })
    }

    fn delete(&self, index: u32) -> VhostUserCommand {
        VhostUserCommand::Delete { index }
    }

    /// The legacy plugin has vhost-user interfaces.
    fn delete_legacy(&self, index: u32) -> Option<VhostUserCommand> {
        Some(self.delete(index))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct NewVhostUser {
    path: Path,
    is_server: bool,
}

impl NewVhostUser {
    pub(super) fn new(socket: String, engine_role: SocketRole) -> Result<Self, TextError> {
        Ok(Self { path: Path::new(socket)?, is_server: engine_role == SocketRole::Server })
    }
}

impl InterfaceToCreate for NewVhostUser {
    type Command = VhostUserCommand;

    /// The request has a field for it.
    const IS_CREATED_WITH_TAG: bool = true;

    fn missing_message(api: &impl Api) -> Option<String> {
        let is_known = api.supports::<CreateVhostUserIfV2>();
        (!is_known).then(|| missing::<CreateVhostUserIfV2>(api.supports::<SwInterfaceVhostUserDump>()))
    }

    fn create(&self, tag: &Tag) -> VhostUserCommand {
        VhostUserCommand::Create { path: self.path.clone(), is_server: self.is_server, tag: tag.clone() }
    }

    fn delete(&self, index: u32) -> VhostUserCommand {
        VhostUserCommand::Delete { index }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) enum VhostUserCommand {
    Create { path: Path, is_server: bool, tag: Tag },
    Delete { index: u32 },
}

impl InterfaceCommand for VhostUserCommand {
    fn creates_interface(&self) -> bool {
        matches!(self, Self::Create { .. })
    }

    fn listens(&self) -> bool {
        self.creates_interface()
    }

    fn add_to(&self, batch: &mut Batch, _api: &impl Api) -> Find {
        match self {
            Self::Create { path, is_server, tag } => {
                let (is_server, sock_filename, tag) = (*is_server, path.clone(), tag.clone());
                let request = CreateVhostUserIfV2 { is_server, sock_filename, tag, ..CreateVhostUserIfV2::default() };
                add_with(batch, request, |reply| reply.sw_if_index)
            }
            Self::Delete { index } => add(batch, DeleteVhostUserIf { sw_if_index: *index }),
        }
    }
}

/// Where the interfaces are in the answers.
#[derive(Debug)]
pub(in crate::engine::vpp) struct VhostUserDumps(DumpTicket<SwInterfaceVhostUserDump>);

impl VhostUserDumps {
    pub(super) fn request(batch: &mut Batch, api: &impl Api) -> Option<Self> {
        let is_known = api.supports::<SwInterfaceVhostUserDump>();
        is_known.then(|| Self(batch.dump(SwInterfaceVhostUserDump { sw_if_index: NO_INTERFACE })))
    }

    pub(super) fn read(self, answers: &Answers) -> Result<Vec<(u32, VhostUserInterface)>, EngineError> {
        let details = answers.details(self.0)?;
        Ok(details.iter().map(|vhost| (vhost.sw_if_index, VhostUserInterface::new(vhost))).collect())
    }
}
