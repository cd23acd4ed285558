//! What a pass writes to the API server.

use super::compile::WantedDefinition;
use super::inputs::DefinitionKey;
use std::fmt;
use std::sync::Arc;
use usnet_crds::{NodeNetwork, UserspaceNetworkSpec, UserspaceNetworkStatus};

/// One write to the API server.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// Makes the state of a node, or writes its spec whole.
    NodeState {
        /// The node.
        node: String,
        /// The node's uid: the state goes with the node.
        owner: String,
        /// All networks of the node.
        networks: Vec<Arc<NodeNetwork>>,
    },
    /// Changes networks of a node's state, if it still is as it was seen.
    EditNodeState {
        /// The node.
        node: String,
        /// The uid of the state that was seen.
        uid: String,
        /// Its generation.
        generation: i64,
        /// What changes in its list of networks, one edit after the other.
        edits: Vec<Edit>,
    },
    /// Deletes the state of a node that left the cluster, or of an earlier node of that name.
    DeleteNodeState {
        /// The node.
        node: String,
    },
    /// Makes or mends a definition.
    Definition {
        /// Where.
        key: DefinitionKey,
        /// What.
        wanted: WantedDefinition,
    },
    /// Deletes a definition of ours.
    DeleteDefinition {
        /// Where.
        key: DefinitionKey,
        /// The object that was looked at, and no later one of that name.
        uid: String,
    },
    /// Makes the network of a bridge that definitions name, or puts its spec back.
    NetworkFromNad {
        /// The network.
        network: String,
        /// Its uid; none to make it.
        uid: Option<String>,
        /// The whole spec.
        spec: Box<UserspaceNetworkSpec>,
    },
    /// Deletes a network that was made from definitions.
    DeleteNetwork {
        /// The network.
        network: String,
        /// The object that was looked at, and no later one of that name.
        uid: String,
    },
    /// Adds or removes our finalizer.
    Finalizer {
        /// The network.
        network: String,
        /// Its uid.
        uid: String,
        /// Whether it should be there.
        present: bool,
    },
    /// Writes the status of a network.
    Status {
        /// The network.
        network: String,
        /// Its uid.
        uid: String,
        /// The whole status.
        status: Box<UserspaceNetworkStatus>,
        /// Whether its readiness changed, and not only a count.
        is_news: bool,
    },
}

/// A change in a node's list of networks, at an index.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// Another one takes its place.
    Replace(usize, Arc<NodeNetwork>),
    /// This one is put before it.
    Insert(usize, Arc<NodeNetwork>),
    /// It is taken out.
    Remove(usize),
}

impl Write {
    /// What kind of write, in one word for metrics.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::NodeState { .. } | Self::EditNodeState { .. } => "NodeState",
            Self::DeleteNodeState { .. } => "DeleteNodeState",
            Self::Definition { .. } => "Definition",
            Self::DeleteDefinition { .. } => "DeleteDefinition",
            Self::NetworkFromNad { .. } => "NetworkFromNad",
            Self::DeleteNetwork { .. } => "DeleteNetwork",
            Self::Finalizer { .. } => "Finalizer",
            Self::Status { .. } => "Status",
        }
    }
}

impl fmt::Display for Write {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NodeState { node, .. } => write!(formatter, "write UserspaceNodeState {node}"),
            Self::EditNodeState { node, .. } => write!(formatter, "change UserspaceNodeState {node}"),
            Self::DeleteNodeState { node } => write!(formatter, "delete UserspaceNodeState {node}"),
            Self::Definition { key, .. } => write!(formatter, "write NetworkAttachmentDefinition {key}"),
            Self::DeleteDefinition { key, .. } => write!(formatter, "delete NetworkAttachmentDefinition {key}"),
            Self::NetworkFromNad { network, .. } => write!(formatter, "write UserspaceNetwork {network}"),
            Self::DeleteNetwork { network, .. } => write!(formatter, "delete UserspaceNetwork {network}"),
            Self::Finalizer { network, present: true, .. } => {
                write!(formatter, "add the finalizer of UserspaceNetwork {network}")
            }
            Self::Finalizer { network, .. } => write!(formatter, "remove the finalizer of UserspaceNetwork {network}"),
            Self::Status { network, .. } => write!(formatter, "write the status of UserspaceNetwork {network}"),
        }
    }
}
