//! The types of ports: one file for each, with how its interfaces are read, created and deleted,
//! the messages for that, and what is reported if this VPP does not know them.
//!
//! This file is the only place in the driver that tells them apart. A new type of port is a file
//! beside it, and a line in each of its enums.

mod af_packet;
mod memif;
mod missing;
mod sub_interface;
mod tap;
mod traits;
mod vhost_user;
mod vxlan;

use super::request::Find;
use super::tags::Tag;
use crate::engine::error::{EngineError, OpError};
use crate::model::memif::MemifSocketIds;
use crate::model::port::{DesiredPort, PodBackend, PortBackend};
use af_packet::{AfPacketCommand, AfPacketDumps, AfPacketInterface, NewAfPacket};
pub(super) use memif::SocketNames;
use memif::{MemifCommand, MemifDumps, MemifInterface, NewMemif, SocketTicket};
use std::collections::{BTreeMap, BTreeSet};
pub(super) use sub_interface::{Frames, SubInterface, SubInterfaceCommand};
use tap::{NewTap, TapCommand, TapDumps, TapInterface};
use traits::{ExistingInterface, InterfaceCommand, InterfaceToCreate};
use usnet_crds::{EngineKind, PortType};
use usnet_vpp::messages::SwInterfaceDetails;
use usnet_vpp::wire::TextError;
use usnet_vpp::{Answers, Api, Batch, ReturnCode};
use vhost_user::{NewVhostUser, VhostUserCommand, VhostUserDumps, VhostUserInterface};
pub(super) use vxlan::{
    SPLIT_HORIZON_GROUP, Tunnel, TunnelCommand, TunnelKey, TunnelsTicket, instances, missing_message as missing_tunnels,
};

/// Calls the same method of every type of port. With `=>` the result is wrapped again.
macro_rules! each {
    ($self:expr, $port:ident, $call:expr) => {
        match $self {
            Self::Memif($port) => $call,
            Self::VhostUser($port) => $call,
            Self::AfPacket($port) => $call,
            Self::Tap($port) => $call,
        }
    };
    ($self:expr, $port:ident, $call:expr => $into:ident) => {
        match $self {
            Self::Memif($port) => $call.into_iter().map($into::Memif).collect(),
            Self::VhostUser($port) => $call.into_iter().map($into::VhostUser).collect(),
            Self::AfPacket($port) => $call.into_iter().map($into::AfPacket).collect(),
            Self::Tap($port) => $call.into_iter().map($into::Tap).collect(),
        }
    };
}

/// An interface of a type that usnet supports, whether usnet owns it or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PortInterface {
    Memif(MemifInterface),
    VhostUser(VhostUserInterface),
    AfPacket(AfPacketInterface),
    Tap(TapInterface),
}

impl PortInterface {
    /// The interface that a port with this backend has, if this one is of its type: known by its
    /// name alone, which has what its deletion needs.
    pub(super) fn recognise(details: &SwInterfaceDetails, backend: &PortBackend) -> Option<Self> {
        let kind = details.interface_dev_type.as_str();
        let (name, endpoint) = (details.interface_name.as_str(), backend.endpoint_name());
        match backend.of_pod()? {
            PodBackend::Memif { .. } => MemifInterface::recognise(kind, name, endpoint).map(Self::Memif),
            PodBackend::VhostUser { engine_role, .. } => {
                VhostUserInterface::recognise(kind, endpoint, engine_role).map(Self::VhostUser)
            }
            PodBackend::Veth { .. } => AfPacketInterface::recognise(kind, name, endpoint).map(Self::AfPacket),
            PodBackend::Tap { device } => TapInterface::recognise(kind, device, endpoint).map(Self::Tap),
        }
    }

    /// The name of its socket or device.
    pub(super) fn endpoint(&self) -> &str {
        each!(self, port, port.endpoint())
    }

    /// The id of its memif socket, which is deleted after it.
    pub(super) fn socket_id(&self) -> Option<u32> {
        each!(self, port, port.socket_id())
    }

    /// What the interface is as a port; `None` if usnet would not create it like this.
    pub(super) fn backend(&self) -> Option<PortBackend> {
        each!(self, port, port.backend())
    }

    /// Whether VPP routes packets to it, instead of forwarding frames in a bridge domain.
    pub(super) fn is_routed(&self) -> bool {
        matches!(self, Self::Memif(memif) if memif.is_routed())
    }

    /// Whether its socket or device can only be one of usnet.
    pub(super) fn has_own_endpoint(&self, own_socket_ids: MemifSocketIds) -> bool {
        each!(self, port, port.has_own_endpoint(own_socket_ids))
    }

    pub(super) fn delete(&self, index: u32) -> Vec<PortCommand> {
        each!(self, port, [port.delete(index)] => PortCommand)
    }

    /// Deletes an interface of the legacy userspace CNI; none if that has no interfaces of this
    /// type.
    pub(super) fn delete_legacy(&self, index: u32) -> Vec<PortCommand> {
        each!(self, port, port.delete_legacy(index) => PortCommand)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NewInterface {
    Memif(NewMemif),
    VhostUser(NewVhostUser),
    AfPacket(NewAfPacket),
    Tap(NewTap),
}

impl NewInterface {
    /// The interface of a port. `reserve` returns an id for a memif socket, and other ids of the
    /// same socket that are unused.
    pub(super) fn plan(
        port: &DesiredPort,
        endpoint: String,
        reserve: impl FnOnce(&str) -> Result<(u32, Vec<u32>), OpError>,
    ) -> Result<Self, OpError> {
        let unfit = |error: TextError| {
            let what = format!("port {}", port.name);
            OpError::Refused { what, reason: error.to_string() }
        };
        let new = match port.backend.of_pod() {
            Some(PodBackend::Memif { .. }) => {
                let socket_ids = reserve(&endpoint)?;
                NewMemif::new(port, endpoint, socket_ids).map(Self::Memif)
            }
            Some(PodBackend::VhostUser { engine_role, .. }) => {
                NewVhostUser::new(endpoint, engine_role).map(Self::VhostUser)
            }
            Some(PodBackend::Veth { .. }) => NewAfPacket::new(endpoint).map(Self::AfPacket),
            Some(PodBackend::Tap { device }) => NewTap::new(port, device).map(Self::Tap),
            None => {
                let (what, reason) = (format!("port {}", port.name), "VPP has no such port for a pod".to_owned());
                return Err(OpError::Refused { what, reason });
            }
        };
        new.map_err(unfit)
    }

    /// The interface on a network's own device or on a NIC, with this MAC address.
    pub(super) fn on_device(device: &str, mac: [u8; 6]) -> Result<Self, OpError> {
        NewAfPacket::new(device.to_owned())
            .map(|new| Self::AfPacket(new.with_mac(mac)))
            .map_err(|error| OpError::Refused { what: format!("port {device}"), reason: error.to_string() })
    }

    /// Why this VPP does not support interfaces on devices.
    pub(super) fn missing_message_of_devices(api: &impl Api) -> Option<String> {
        NewAfPacket::missing_message(api)
    }

    /// The types of ports that this VPP does not support, each with the reason.
    pub(super) fn unusable_types(api: &impl Api) -> BTreeMap<PortType, String> {
        let all = [
            (PortType::Memif, NewMemif::missing_message(api)),
            (PortType::VhostUser, NewVhostUser::missing_message(api)),
            (PortType::Veth, NewAfPacket::missing_message(api)),
            (PortType::Tap, NewTap::missing_message(api)),
        ];
        let engine = EngineKind::Vpp;
        all.into_iter().filter_map(|(kind, missing)| Some((kind, format!("{engine}: {}", missing?)))).collect()
    }

    /// Why this VPP does not support this type of port.
    pub(super) fn missing_message(&self, api: &impl Api) -> Option<String> {
        match self {
            Self::Memif(_) => NewMemif::missing_message(api),
            Self::VhostUser(_) => NewVhostUser::missing_message(api),
            Self::AfPacket(_) => NewAfPacket::missing_message(api),
            Self::Tap(_) => NewTap::missing_message(api),
        }
    }

    /// Whether the request that creates it also tags it.
    pub(super) const fn is_created_with_tag(&self) -> bool {
        match self {
            Self::Memif(_) => NewMemif::IS_CREATED_WITH_TAG,
            Self::VhostUser(_) => NewVhostUser::IS_CREATED_WITH_TAG,
            Self::AfPacket(_) => NewAfPacket::IS_CREATED_WITH_TAG,
            Self::Tap(_) => NewTap::IS_CREATED_WITH_TAG,
        }
    }

    /// What has to be there before the interface.
    pub(super) fn socket_commands(&self) -> Vec<PortCommand> {
        each!(self, port, port.socket_commands() => PortCommand)
    }

    pub(super) fn create(&self, tag: &Tag) -> Vec<PortCommand> {
        each!(self, port, [port.create(tag)] => PortCommand)
    }

    pub(super) fn delete(&self, index: u32) -> Vec<PortCommand> {
        each!(self, port, [port.delete(index)] => PortCommand)
    }

    /// Deletes what [`socket_commands`](Self::socket_commands) added.
    pub(super) fn delete_socket(&self) -> Vec<PortCommand> {
        each!(self, port, port.delete_socket() => PortCommand)
    }
}

/// A change of an interface or its socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PortCommand {
    Memif(MemifCommand),
    VhostUser(VhostUserCommand),
    AfPacket(AfPacketCommand),
    Tap(TapCommand),
}

impl PortCommand {
    /// Deletes the id of a memif socket. VPP rejects that while an interface uses it.
    pub(super) const fn delete_socket_id(id: u32) -> Self {
        Self::Memif(MemifCommand::DeleteSocket { id })
    }

    /// Whether the outcome is the index of a new interface.
    pub(super) fn creates_interface(&self) -> bool {
        each!(self, command, command.creates_interface())
    }

    /// Whether VPP has to listen on a socket for it.
    pub(super) fn listens(&self) -> bool {
        each!(self, command, command.listens())
    }

    /// Whether it adds a socket, which is deleted if the interface cannot be created.
    pub(super) fn adds_socket(&self) -> bool {
        each!(self, command, command.adds_socket())
    }

    /// Whether it does no harm that VPP rejects it.
    pub(super) fn is_harmless(&self) -> bool {
        each!(self, command, command.is_harmless())
    }

    /// Whether a failure with this code means that another client changed VPP in between; `None` if
    /// it does not depend on the type of port.
    pub(super) fn is_conflict(&self, code: ReturnCode) -> Option<bool> {
        each!(self, command, command.is_conflict(code))
    }

    /// Adds its request to a batch.
    pub(super) fn add_to(&self, batch: &mut Batch, api: &impl Api) -> Find {
        each!(self, command, command.add_to(batch, api))
    }
}

/// Where the interfaces of all types are in the answers. Without its plugin VPP has none of a type,
/// and does not know the question.
#[derive(Debug)]
pub(super) struct Dumps {
    memif: Option<MemifDumps>,
    vhost_user: Option<VhostUserDumps>,
    af_packet: Option<AfPacketDumps>,
    tap: Option<TapDumps>,
}

impl Dumps {
    pub(super) fn request(batch: &mut Batch, api: &impl Api) -> Self {
        Self {
            memif: MemifDumps::request(batch, api),
            vhost_user: VhostUserDumps::request(batch, api),
            af_packet: AfPacketDumps::request(batch, api),
            tap: TapDumps::request(batch, api),
        }
    }

    /// The interfaces by index, and the names of memif sockets by id.
    pub(super) fn read(self, answers: &Answers) -> Result<(BTreeMap<u32, PortInterface>, SocketNames), EngineError> {
        let (mut interfaces, mut sockets) = (BTreeMap::new(), SocketNames::new());
        if let Some(dumps) = self.memif {
            let (memifs, names) = dumps.read(answers)?;
            sockets = names;
            interfaces.extend(memifs.into_iter().map(|(index, port)| (index, PortInterface::Memif(port))));
        }
        if let Some(dumps) = self.vhost_user {
            let read = dumps.read(answers)?.into_iter();
            interfaces.extend(read.map(|(index, port)| (index, PortInterface::VhostUser(port))));
        }
        if let Some(dumps) = self.af_packet {
            let read = dumps.read(answers)?.into_iter();
            interfaces.extend(read.map(|(index, port)| (index, PortInterface::AfPacket(port))));
        }
        if let Some(dumps) = self.tap {
            let read = dumps.read(answers)?.into_iter();
            interfaces.extend(read.map(|(index, port)| (index, PortInterface::Tap(port))));
        }
        Ok((interfaces, sockets))
    }
}

/// Where the sockets or devices of one type are in the answers, without their interfaces.
#[derive(Debug)]
pub(super) enum EndpointDump {
    Memif(SocketTicket),
    VhostUser(VhostUserDumps),
    AfPacket(AfPacketDumps),
    Tap(TapDumps),
}

impl EndpointDump {
    /// Requests those of the type that a port will have, or, of a memif, its socket alone.
    pub(super) fn request(
        batch: &mut Batch,
        api: &impl Api,
        backend: &PortBackend,
        own_socket_ids: MemifSocketIds,
    ) -> Option<Self> {
        match backend.of_pod()? {
            PodBackend::Memif { .. } => {
                SocketTicket::request(batch, backend.endpoint_name(), own_socket_ids).map(Self::Memif)
            }
            PodBackend::VhostUser { .. } => VhostUserDumps::request(batch, api).map(Self::VhostUser),
            PodBackend::Veth { .. } => AfPacketDumps::request(batch, api).map(Self::AfPacket),
            PodBackend::Tap { .. } => TapDumps::request(batch, api).map(Self::Tap),
        }
    }

    /// The names of the endpoints.
    pub(super) fn read(self, answers: &Answers) -> Result<BTreeSet<String>, EngineError> {
        Ok(match self {
            Self::Memif(ticket) => ticket.read(answers)?,
            Self::VhostUser(dumps) => dumps.read(answers)?.iter().map(|(_, port)| port.endpoint().to_owned()).collect(),
            Self::AfPacket(dumps) => dumps.read(answers)?.iter().map(|(_, port)| port.endpoint().to_owned()).collect(),
            Self::Tap(dumps) => dumps.read(answers)?.iter().map(|(_, port)| port.endpoint().to_owned()).collect(),
        })
    }
}
