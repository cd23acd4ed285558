//! What the driver asks of each type of port. What only some types have is a default here.

use crate::engine::vpp::request::Find;
use crate::engine::vpp::tags::Tag;
use crate::model::memif::MemifSocketIds;
use crate::model::port::PortBackend;
use usnet_vpp::{Api, Batch, ReturnCode};

pub(super) trait ExistingInterface {
    type Command;

    /// The name of its socket or device.
    fn endpoint(&self) -> &str;

    /// The id of its memif socket, which is deleted after it.
    fn socket_id(&self) -> Option<u32> {
        None
    }

    /// What the interface is as a port; `None` if usnet would not create it like this.
    fn backend(&self) -> Option<PortBackend>;

    /// Whether its socket or device can only be one of usnet. An interface that is created with its
    /// tag is never without one.
    fn has_own_endpoint(&self, _own_socket_ids: MemifSocketIds) -> bool {
        false
    }

    fn delete(&self, index: u32) -> Self::Command;

    /// Deletes an interface of the legacy userspace CNI; none if that has no interfaces of this
    /// type.
    fn delete_legacy(&self, _index: u32) -> Option<Self::Command> {
        None
    }
}

pub(super) trait InterfaceToCreate {
    type Command;

    /// Whether the request that creates it also tags it.
    const IS_CREATED_WITH_TAG: bool;

    /// Why this VPP does not support this type of port.
    fn missing_message(api: &impl Api) -> Option<String>;

    /// What has to be there before the interface.
    fn socket_commands(&self) -> Vec<Self::Command> {
        Vec::new()
    }

    fn create(&self, tag: &Tag) -> Self::Command;

    fn delete(&self, index: u32) -> Self::Command;

    /// Deletes what [`socket_commands`](Self::socket_commands) added.
    fn delete_socket(&self) -> Option<Self::Command> {
        None
    }
}

/// A change of an interface or its socket.
pub(super) trait InterfaceCommand {
    /// Whether the outcome is the index of a new interface.
    fn creates_interface(&self) -> bool;

    /// Whether VPP has to listen on a socket for it.
    fn listens(&self) -> bool {
        false
    }

    /// Whether it adds a socket, which is deleted if the interface cannot be created.
    fn adds_socket(&self) -> bool {
        false
    }

    /// Whether it does no harm that VPP rejects it.
    fn is_harmless(&self) -> bool {
        false
    }

    /// Whether a failure with this code means that another client changed VPP in between; `None` if
    /// it does not depend on the type of port.
    fn is_conflict(&self, code: ReturnCode) -> Option<bool> {
        self.creates_interface().then_some(code == ReturnCode::IfAlreadyExists)
    }

    /// Adds its request to a batch.
    fn add_to(&self, batch: &mut Batch, api: &impl Api) -> Find;
}
