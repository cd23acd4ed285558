//! The writes for attachments, as values.

use super::target::Target;
use crate::cache::attachments::ObjectName;
use std::fmt;
use usnet_crds::{RequestedAttachment, UserspaceAttachmentStatus};

/// A write for an attachment.
#[derive(Debug, Clone, PartialEq)]
pub enum AttachmentWrite {
    /// Writes the attachments that are requested of a node.
    Node {
        /// The name of the node, and of its UserspaceNodeState.
        node: String,
        /// The uid of the object.
        uid: String,
        /// All of them.
        attachments: Vec<RequestedAttachment>,
    },
    /// Sets the finalizer of an attachment and the pod as its owner.
    Metadata {
        /// The attachment.
        name: ObjectName,
        /// Its uid, a precondition.
        uid: String,
        /// The name and the uid of the pod.
        pod: (String, String),
    },
    /// Removes the finalizer of an attachment.
    RemoveFinalizer {
        /// The attachment.
        name: ObjectName,
        /// Its uid, a precondition.
        uid: String,
        /// The index of the finalizer.
        index: usize,
    },
    /// Writes the status of an attachment.
    Status {
        /// The attachment.
        name: ObjectName,
        /// Its uid, a precondition.
        uid: String,
        /// The whole status.
        status: Box<UserspaceAttachmentStatus>,
    },
}

impl AttachmentWrite {
    /// What it changes.
    pub fn target(&self) -> Target {
        match self {
            Self::Node { node, .. } => Target::NodeAttachments(node.clone()),
            Self::Metadata { name, .. } | Self::RemoveFinalizer { name, .. } => {
                Target::AttachmentMetadata(name.clone())
            }
            Self::Status { name, .. } => Target::AttachmentStatus(name.clone()),
        }
    }

    /// The kind of write, as a label of metrics.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Node { .. } => "NodeAttachments",
            Self::Metadata { .. } | Self::RemoveFinalizer { .. } => "Attachment",
            Self::Status { .. } => "AttachmentStatus",
        }
    }
}

impl fmt::Display for AttachmentWrite {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node { node, .. } => write!(formatter, "write the attachments of UserspaceNodeState {node}"),
            Self::Metadata { name, .. } => {
                write!(formatter, "write finalizer and owner of UserspaceAttachment {name}")
            }
            Self::RemoveFinalizer { name, .. } => {
                write!(formatter, "remove the finalizer of UserspaceAttachment {name}")
            }
            Self::Status { name, .. } => write!(formatter, "write the status of UserspaceAttachment {name}"),
        }
    }
}
