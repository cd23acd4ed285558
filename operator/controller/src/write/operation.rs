//! The writes to the API server, as values.

use super::attachment::AttachmentWrite;
use super::target::Target;
use crate::cache::attachments::ObjectName;
use crate::cache::{Labels, NadKey};
use std::fmt;
use usnet_crds::{
    CompiledNetworkSpec, UserspaceNetworkSpec, UserspaceNetworkStatus, UserspaceNodeSliceSpec,
    UserspaceReservationStatus, UserspaceUplinkStatus,
};

/// One write to the API server.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// Adds or removes the finalizer of a network.
    Finalizer {
        /// The name of the network.
        network: String,
        /// Its uid, a precondition: a later object of that name is not changed.
        uid: String,
        /// What happens to it.
        change: FinalizerChange,
    },
    /// Creates or replaces a compiled network.
    Compiled {
        /// The name of the network.
        network: String,
        /// The uid of the UserspaceNetwork.
        owner: String,
        /// The uid of the object that is replaced; none to create it.
        uid: Option<String>,
        /// The whole spec.
        spec: Box<CompiledNetworkSpec>,
    },
    /// Sets the phase of a compiled network to Draining.
    DrainCompiled {
        /// The name of the network.
        network: String,
        /// The uid of the object.
        uid: String,
    },
    /// Deletes a compiled network.
    DeleteCompiled {
        /// The name of the network.
        network: String,
        /// The uid of the object.
        uid: String,
    },
    /// Creates the state of a node, or writes its spec.
    NodeState {
        /// The name of the node, and of its UserspaceNodeState.
        node: String,
        /// The uid of the Node, which owns the state.
        owner: String,
        /// The uid of the object that is replaced; none to create it.
        uid: Option<String>,
        /// Unique in the cluster: address ranges are derived from it.
        number: u32,
        /// The labels of the Node, by which its agent selects networks.
        labels: Labels,
    },
    /// Deletes the state of a node that left the cluster, or of an earlier node of that name.
    DeleteNodeState {
        /// The name of the node, and of its UserspaceNodeState.
        node: String,
    },
    /// What an attachment needs.
    Attachment(AttachmentWrite),
    /// Creates or replaces a slice of nodes.
    NodeSlice {
        /// The name of the slice.
        slice: String,
        /// The uid of the object that is replaced; none to create it.
        uid: Option<String>,
        /// The whole spec.
        spec: Box<UserspaceNodeSliceSpec>,
    },
    /// Deletes a slice of nodes.
    DeleteNodeSlice {
        /// The name of the slice.
        slice: String,
        /// The uid of the object.
        uid: String,
    },
    /// Writes the status of a network.
    Status {
        /// The name of the network.
        network: String,
        /// Its uid, a precondition: a later object of that name is not changed.
        uid: String,
        /// The whole status.
        status: Box<UserspaceNetworkStatus>,
    },
    /// Adds or removes the finalizer of an uplink.
    UplinkFinalizer {
        /// The name of the uplink.
        uplink: String,
        /// Its uid, a precondition: a later object of that name is not changed.
        uid: String,
        /// What happens to it.
        change: FinalizerChange,
    },
    /// Writes the status of an uplink.
    UplinkStatus {
        /// The name of the uplink.
        uplink: String,
        /// Its uid, a precondition: a later object of that name is not changed.
        uid: String,
        /// The whole status.
        status: Box<UserspaceUplinkStatus>,
    },
    /// Writes the status of a reservation.
    ReservationStatus {
        /// The reservation.
        name: ObjectName,
        /// Its uid, a precondition.
        uid: String,
        /// The whole status.
        status: Box<UserspaceReservationStatus>,
    },
    /// Creates or repairs a NetworkAttachmentDefinition.
    Nad {
        /// Namespace and name.
        key: NadKey,
        /// The desired content.
        desired: DesiredNad,
    },
    /// Deletes a generated NetworkAttachmentDefinition. The admission policy protects all others.
    DeleteNad {
        /// Namespace and name.
        key: NadKey,
    },
    /// Creates the generated network of a bridge that NADs name, or restores its spec.
    NetworkFromNad {
        /// The name of the network.
        network: String,
        /// Its uid; none to create it.
        uid: Option<String>,
        /// The whole spec.
        spec: Box<UserspaceNetworkSpec>,
    },
    /// Deletes a network that was generated from NetworkAttachmentDefinitions.
    DeleteNetwork {
        /// The name of the network.
        network: String,
        /// Its uid: a later object of that name is not deleted.
        uid: String,
    },
}

/// What happens to a finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalizerChange {
    /// It is added.
    Add,
    /// It is removed.
    Remove {
        /// Its index in the list of finalizers.
        index: usize,
    },
}

/// A desired NetworkAttachmentDefinition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredNad {
    /// The configuration, as JSON text.
    pub config: String,
    /// The uid of the network that owns it.
    pub owner: String,
    /// The resource that its pods request, if the network has a device plugin.
    pub resource: Option<String>,
}

impl Write {
    /// What it changes.
    pub fn target(&self) -> Target {
        match self {
            Self::Finalizer { network, .. } => Target::Finalizer(network.clone()),
            Self::Compiled { network, .. }
            | Self::DrainCompiled { network, .. }
            | Self::DeleteCompiled { network, .. } => Target::Compiled(network.clone()),
            Self::NodeState { node, .. } | Self::DeleteNodeState { node } => Target::NodeState(node.clone()),
            Self::Attachment(write) => write.target(),
            Self::NodeSlice { slice, .. } | Self::DeleteNodeSlice { slice, .. } => Target::NodeSlice(slice.clone()),
            Self::Status { network, .. } => Target::Status(network.clone()),
            Self::UplinkFinalizer { uplink, .. } => Target::UplinkFinalizer(uplink.clone()),
            Self::UplinkStatus { uplink, .. } => Target::UplinkStatus(uplink.clone()),
            Self::ReservationStatus { name, .. } => Target::ReservationStatus(name.clone()),
            Self::Nad { key, .. } | Self::DeleteNad { key } => Target::Nad(key.clone()),
            Self::NetworkFromNad { network, .. } | Self::DeleteNetwork { network, .. } => {
                Target::NetworkFromNad(network.clone())
            }
        }
    }

    /// The kind of write, as a label of metrics.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Finalizer { .. } => "Finalizer",
            Self::Compiled { .. } | Self::DrainCompiled { .. } => "CompiledNetwork",
            Self::DeleteCompiled { .. } => "DeleteCompiledNetwork",
            Self::NodeState { .. } => "NodeState",
            Self::DeleteNodeState { .. } => "DeleteNodeState",
            Self::Attachment(write) => write.kind(),
            Self::NodeSlice { .. } => "NodeSlice",
            Self::DeleteNodeSlice { .. } => "DeleteNodeSlice",
            Self::Status { .. } => "Status",
            Self::UplinkFinalizer { .. } => "UplinkFinalizer",
            Self::UplinkStatus { .. } => "UplinkStatus",
            Self::ReservationStatus { .. } => "ReservationStatus",
            Self::Nad { .. } => "Definition",
            Self::DeleteNad { .. } => "DeleteDefinition",
            Self::NetworkFromNad { .. } => "NetworkFromNad",
            Self::DeleteNetwork { .. } => "DeleteNetwork",
        }
    }
}

impl fmt::Display for Write {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finalizer { network, change: FinalizerChange::Add, .. } => {
                write!(formatter, "add the finalizer of UserspaceNetwork {network}")
            }
            Self::Finalizer { network, .. } => write!(formatter, "remove the finalizer of UserspaceNetwork {network}"),
            Self::Compiled { network, .. } => write!(formatter, "write CompiledNetwork {network}"),
            Self::DrainCompiled { network, .. } => write!(formatter, "drain CompiledNetwork {network}"),
            Self::DeleteCompiled { network, .. } => write!(formatter, "delete CompiledNetwork {network}"),
            Self::NodeState { node, .. } => write!(formatter, "write UserspaceNodeState {node}"),
            Self::DeleteNodeState { node } => write!(formatter, "delete UserspaceNodeState {node}"),
            Self::Attachment(write) => write.fmt(formatter),
            Self::NodeSlice { slice, .. } => write!(formatter, "write UserspaceNodeSlice {slice}"),
            Self::DeleteNodeSlice { slice, .. } => write!(formatter, "delete UserspaceNodeSlice {slice}"),
            Self::Status { network, .. } => write!(formatter, "write the status of UserspaceNetwork {network}"),
            Self::UplinkFinalizer { uplink, change: FinalizerChange::Add, .. } => {
                write!(formatter, "add the finalizer of UserspaceUplink {uplink}")
            }
            Self::UplinkFinalizer { uplink, .. } => {
                write!(formatter, "remove the finalizer of UserspaceUplink {uplink}")
            }
            Self::UplinkStatus { uplink, .. } => write!(formatter, "write the status of UserspaceUplink {uplink}"),
            Self::ReservationStatus { name, .. } => {
                write!(formatter, "write the status of UserspaceReservation {name}")
            }
            Self::Nad { key, .. } => write!(formatter, "write NetworkAttachmentDefinition {key}"),
            Self::DeleteNad { key } => write!(formatter, "delete NetworkAttachmentDefinition {key}"),
            Self::NetworkFromNad { network, .. } => write!(formatter, "write UserspaceNetwork {network}"),
            Self::DeleteNetwork { network, .. } => write!(formatter, "delete UserspaceNetwork {network}"),
        }
    }
}
