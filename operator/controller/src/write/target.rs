//! What a write changes.

use crate::cache::NadKey;
use crate::cache::attachments::ObjectName;

/// What a write changes. At most one write is in flight for each target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// The finalizer of a network.
    Finalizer(String),
    /// A compiled network.
    Compiled(String),
    /// The state of a node.
    NodeState(String),
    /// The attachments that are requested of a node.
    NodeAttachments(String),
    /// The finalizer and the owner of an attachment.
    AttachmentMetadata(ObjectName),
    /// The status of an attachment.
    AttachmentStatus(ObjectName),
    /// The status of a reservation.
    ReservationStatus(ObjectName),
    /// A pod, which is only read.
    Pod(ObjectName),
    /// A slice of nodes.
    NodeSlice(String),
    /// The status of a network.
    Status(String),
    /// The finalizer of an uplink.
    UplinkFinalizer(String),
    /// The status of an uplink.
    UplinkStatus(String),
    /// A network that is generated from NetworkAttachmentDefinitions.
    NetworkFromNad(String),
    /// A NetworkAttachmentDefinition.
    Nad(NadKey),
}

impl Target {
    /// The namespace whose users cause the write, if the cluster shares out its turns among
    /// namespaces: attachments
    /// and reservations are theirs.
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::AttachmentMetadata(name)
            | Self::AttachmentStatus(name)
            | Self::ReservationStatus(name)
            | Self::Pod(name) => Some(&name.namespace),
            _ => None,
        }
    }
}
