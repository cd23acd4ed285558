//! Memif: shared memory behind a socket that VPP listens on, as the master.
//!
//! VPP refers to a socket by an id, which is added before the interface and deleted after it. usnet
//! owns a range of ids; an untagged interface on one of them is an interrupted creation.

use super::missing::missing;
use super::traits::{ExistingInterface, InterfaceCommand, InterfaceToCreate};
use crate::engine::error::EngineError;
use crate::engine::vpp::request::{Find, add, add_with};
use crate::engine::vpp::tags::Tag;
use crate::model::memif::{MemifSocket, MemifSocketIds};
use crate::model::port::{DesiredPort, PortBackend};
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{MemifMode as Mode, RingSize};
use usnet_vpp::messages::{
    MemifCreate, MemifCreateV2, MemifDelete, MemifDetails, MemifDump, MemifMode, MemifRole, MemifSocketFilenameAddDel,
    MemifSocketFilenameAddDelV2, MemifSocketFilenameDump, NO_INTERFACE, SwInterfaceDump,
};
use usnet_vpp::wire::{FixedText, Secret, Text, TextError};
use usnet_vpp::{Answers, Api, Batch, DumpTicket, ReturnCode};

/// The name of a socket, as all releases take it.
type SocketName = FixedText<108>;

/// The names of sockets by their ids.
pub(in crate::engine::vpp) type SocketNames = BTreeMap<u32, String>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct MemifInterface {
    socket_id: u32,
    socket: String,
    is_server: bool,
    mode: MemifMode,
}

impl MemifInterface {
    fn new(details: &MemifDetails, sockets: &SocketNames) -> Self {
        Self {
            socket_id: details.socket_id,
            socket: sockets.get(&details.socket_id).cloned().unwrap_or_default(),
            is_server: details.role == MemifRole::Master,
            mode: details.mode,
        }
    }

    /// A memif that usnet created on this socket in Ethernet mode: VPP names a memif after the id
    /// of its socket and its number there, of which usnet uses only the first.
    pub(super) fn recognise(kind: &str, name: &str, socket: String) -> Option<Self> {
        let socket_id = name.strip_prefix("memif")?.strip_suffix("/0")?.parse().ok()?;
        (kind == "memif").then_some(Self { socket_id, socket, is_server: true, mode: MemifMode::Ethernet })
    }

    /// Whether it carries IP packets.
    pub(super) fn is_routed(&self) -> bool {
        self.is_server && self.mode == MemifMode::Ip
    }
}

impl ExistingInterface for MemifInterface {
    type Command = MemifCommand;

    fn endpoint(&self) -> &str {
        &self.socket
    }

    fn socket_id(&self) -> Option<u32> {
        Some(self.socket_id)
    }

    fn backend(&self) -> Option<PortBackend> {
        let mode = match self.mode {
            MemifMode::Ethernet => Some(Mode::Ethernet),
            MemifMode::Ip => Some(Mode::Ip),
            MemifMode::PuntInject | MemifMode::Other(_) => None,
        };
        let mode = mode.filter(|_| self.is_server)?;
        Some(PortBackend::Memif { socket: MemifSocket::parse(&self.socket)?, mode })
    }

    fn has_own_endpoint(&self, own_socket_ids: MemifSocketIds) -> bool {
        own_socket_ids.contains(self.socket_id)
    }

    fn delete(&self, index: u32) -> MemifCommand {
        MemifCommand::Delete { index }
    }

    /// The legacy plugin has memifs.
    fn delete_legacy(&self, index: u32) -> Option<MemifCommand> {
        Some(self.delete(index))
    }
}

/// An interface to create, on a socket that gets this id. `unused` are other ids of the same
/// socket: their reference counts in VPP may be wrong, so that they are deleted first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct NewMemif {
    socket_id: u32,
    unused: Vec<u32>,
    name: SocketName,
    mode: MemifMode,
    ring_size: RingSize,
    secret: Option<Secret>,
}

impl NewMemif {
    pub(super) fn new(
        port: &DesiredPort,
        socket: String,
        (socket_id, unused): (u32, Vec<u32>),
    ) -> Result<Self, TextError> {
        Ok(Self {
            socket_id,
            unused,
            name: SocketName::new(socket)?,
            mode: if port.backend.is_routed() { MemifMode::Ip } else { MemifMode::Ethernet },
            ring_size: port.creation.ring_size,
            secret: port.creation.secret.as_ref().map(|secret| Secret::new(secret.reveal())).transpose()?,
        })
    }
}

impl InterfaceToCreate for NewMemif {
    type Command = MemifCommand;

    /// VPP creates it without a tag.
    const IS_CREATED_WITH_TAG: bool = false;

    fn missing_message(api: &impl Api) -> Option<String> {
        let is_known = api.supports::<MemifCreateV2>() || api.supports::<MemifCreate>();
        (!is_known).then(|| missing::<MemifCreateV2>(api.supports::<MemifDump>()))
    }

    fn socket_commands(&self) -> Vec<MemifCommand> {
        let delete = self.unused.iter().map(|id| MemifCommand::DeleteSocket { id: *id });
        delete.chain([MemifCommand::AddSocket { id: self.socket_id, name: self.name.clone() }]).collect()
    }

    fn create(&self, _tag: &Tag) -> MemifCommand {
        let Self { socket_id, mode, ring_size, secret, .. } = self;
        MemifCommand::Create { socket_id: *socket_id, mode: *mode, ring_size: *ring_size, secret: secret.clone() }
    }

    fn delete(&self, index: u32) -> MemifCommand {
        MemifCommand::Delete { index }
    }

    fn delete_socket(&self) -> Option<MemifCommand> {
        Some(MemifCommand::DeleteSocket { id: self.socket_id })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) enum MemifCommand {
    AddSocket { id: u32, name: SocketName },
    DeleteSocket { id: u32 },
    Create { socket_id: u32, mode: MemifMode, ring_size: RingSize, secret: Option<Secret> },
    Delete { index: u32 },
}

impl InterfaceCommand for MemifCommand {
    fn creates_interface(&self) -> bool {
        matches!(self, Self::Create { .. })
    }

    fn listens(&self) -> bool {
        self.creates_interface()
    }

    fn adds_socket(&self) -> bool {
        matches!(self, Self::AddSocket { .. })
    }

    /// The id was deleted by others already, or is still in use by others.
    fn is_harmless(&self) -> bool {
        matches!(self, Self::DeleteSocket { .. })
    }

    fn is_conflict(&self, code: ReturnCode) -> Option<bool> {
        match self {
            Self::AddSocket { .. } => Some(code == ReturnCode::EntryAlreadyExists),
            // The id of the socket was deleted or has a memif, or another id of the same socket has
            // one.
            Self::Create { .. } => Some(matches!(
                code,
                ReturnCode::InvalidArgument | ReturnCode::SubifAlreadyExists | ReturnCode::SyscallError4
            )),
            Self::DeleteSocket { .. } | Self::Delete { .. } => None,
        }
    }

    fn add_to(&self, batch: &mut Batch, api: &impl Api) -> Find {
        match self {
            Self::AddSocket { id, name } => add_socket(batch, api, *id, Some(name)),
            Self::DeleteSocket { id } => add_socket(batch, api, *id, None),
            Self::Create { socket_id, mode, ring_size, secret } => {
                let newest = MemifCreateV2 {
                    role: MemifRole::Master,
                    mode: *mode,
                    socket_id: *socket_id,
                    ring_size: ring_size.get().into(),
                    secret: secret.clone().unwrap_or_default(),
                    ..MemifCreateV2::default()
                };
                add_memif(batch, api, newest)
            }
            Self::Delete { index } => add(batch, MemifDelete { sw_if_index: *index }),
        }
    }
}

/// Adds the id of a socket, or deletes it if there is no name: VPP ignores the name then.
fn add_socket(batch: &mut Batch, api: &impl Api, socket_id: u32, name: Option<&SocketName>) -> Find {
    let (is_add, name) = (name.is_some(), name.cloned().unwrap_or_default());
    if api.supports::<MemifSocketFilenameAddDelV2>() {
        let socket_filename = Text::from(name.as_str());
        return add(batch, MemifSocketFilenameAddDelV2 { is_add, socket_id, socket_filename });
    }
    add(batch, MemifSocketFilenameAddDel { is_add, socket_id, socket_filename: name })
}

/// The only memif of a socket. The application in the pod decides on the number of queues.
fn add_memif(batch: &mut Batch, api: &impl Api, newest: MemifCreateV2) -> Find {
    if api.supports::<MemifCreateV2>() {
        return add_with(batch, newest, |reply| reply.sw_if_index);
    }
    let MemifCreateV2 { role, mode, socket_id, ring_size, secret, .. } = newest;
    let request = MemifCreate { role, mode, socket_id, ring_size, secret, ..MemifCreate::default() };
    add_with(batch, request, |reply| reply.sw_if_index)
}

/// Where the answers are: the interfaces, and the names of their sockets.
#[derive(Debug)]
pub(in crate::engine::vpp) struct MemifDumps {
    interfaces: DumpTicket<MemifDump>,
    sockets: DumpTicket<MemifSocketFilenameDump>,
}

impl MemifDumps {
    pub(super) fn request(batch: &mut Batch, api: &impl Api) -> Option<Self> {
        let is_known = api.supports::<MemifDump>();
        is_known.then(|| Self { interfaces: batch.dump(MemifDump {}), sockets: batch.dump(MemifSocketFilenameDump {}) })
    }

    pub(super) fn read(self, answers: &Answers) -> Result<(Vec<(u32, MemifInterface)>, SocketNames), EngineError> {
        let sockets = socket_names(answers, self.sockets)?;
        let interfaces = answers.details(self.interfaces)?;
        let interfaces = interfaces.iter().map(|memif| (memif.sw_if_index, MemifInterface::new(memif, &sockets)));
        Ok((interfaces.collect(), sockets))
    }
}

/// Where the interface is that has the first id that a socket would get.
///
/// VPP shows the names of sockets only all at once. They are not needed: VPP rejects an id that has
/// another name, and an interface on a socket that another id has.
#[derive(Debug)]
pub(in crate::engine::vpp) struct SocketTicket {
    socket: String,
    id: u32,
    interfaces: DumpTicket<SwInterfaceDump>,
}

impl SocketTicket {
    pub(super) fn request(batch: &mut Batch, socket: String, own_socket_ids: MemifSocketIds) -> Option<Self> {
        let id = own_socket_ids.of_socket(&socket).next()?;
        let name_filter = Text::from(interface_name(id).as_str());
        let dump = SwInterfaceDump { sw_if_index: NO_INTERFACE, name_filter_valid: true, name_filter };
        Some(Self { socket, id, interfaces: batch.dump(dump) })
    }

    /// The socket, if it may have an interface.
    pub(super) fn read(self, answers: &Answers) -> Result<BTreeSet<String>, EngineError> {
        let name = interface_name(self.id);
        let interfaces = answers.details(self.interfaces)?;
        // VPP shows the interfaces whose names contain this one.
        let is_used = interfaces.iter().any(|details| details.interface_name.as_str() == name);
        Ok(is_used.then_some(self.socket).into_iter().collect())
    }
}

/// The name that VPP gives to the only interface of a socket.
fn interface_name(socket_id: u32) -> String {
    format!("memif{socket_id}/0")
}

fn socket_names(answers: &Answers, ticket: DumpTicket<MemifSocketFilenameDump>) -> Result<SocketNames, EngineError> {
    let details = answers.details(ticket)?;
    Ok(details.iter().map(|details| (details.socket_id, details.socket_filename.to_string())).collect())
}
