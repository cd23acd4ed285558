//! What the controller has seen of the cluster, already parsed: all that [`super::compile`] and the rest of a pass look at.

use super::by_name::ByName;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use usnet_crds::legacy::{Form, InvalidForm};
use usnet_crds::node_state::NetworkReport;
use usnet_crds::validate::ValidNetwork;
use usnet_crds::{Engine, NodeNetwork, UserspaceNetworkStatus};

/// Labels of an object.
pub type Labels = BTreeMap<String, String>;

/// The cluster as it was last seen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inputs {
    /// All networks by name.
    pub networks: BTreeMap<String, Network>,
    /// All namespaces by name.
    pub namespaces: BTreeMap<String, Namespace>,
    /// All nodes by name.
    pub nodes: BTreeMap<String, Node>,
    /// What was compiled for each node, and what its agent says.
    pub states: BTreeMap<String, NodeState>,
    /// All NetworkAttachmentDefinitions; none when they cannot be read, as before Multus is installed.
    pub definitions: Option<BTreeMap<DefinitionKey, Definition>>,
}

/// A `UserspaceNetwork`.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Identifies this object among all that ever had its name.
    pub uid: String,
    /// Goes up with each change of the spec.
    pub generation: i64,
    /// When it was made.
    pub created: Option<Time>,
    /// Somebody asked to delete it.
    pub is_deleting: bool,
    /// When that was; none where there is no API server that says so.
    pub deletion_asked: Option<Time>,
    /// Our finalizer keeps it.
    pub has_finalizer: bool,
    /// The value of [`usnet_crds::network::FORCE_DELETE`].
    pub force_delete: Option<String>,
    /// It says that it was made from hand-written definitions.
    pub has_from_nad_label: bool,
    /// The spec, or what is wrong with it.
    pub spec: Result<ValidNetwork, String>,
    /// What we said of it last.
    pub status: Option<UserspaceNetworkStatus>,
}

/// A namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Namespace {
    /// Its labels.
    pub labels: Labels,
    /// It is being deleted: nothing can be made in it.
    pub is_deleting: bool,
}

/// A node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// Identifies this object among all that ever had its name.
    pub uid: String,
    /// When it was made.
    pub created: Option<Time>,
    /// Its labels.
    pub labels: Labels,
    /// Its condition Ready is True.
    pub is_ready: bool,
}

/// A `UserspaceNodeState`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeState {
    /// Identifies this object among all that ever had its name.
    pub uid: String,
    /// When it was made.
    pub created: Option<Time>,
    /// The uid of the node that owns it.
    pub owner: Option<String>,
    /// Goes up with each change of the spec.
    pub generation: i64,
    /// What was compiled last; none when it cannot be read and must be written again.
    pub networks: Option<ByName<NodeNetwork>>,
    /// The list of networks is not sorted, or names one twice: somebody else wrote it.
    pub is_disordered: bool,
    /// What the agent says; none before its first word.
    pub status: Option<NodeStatus>,
}

/// What the agent of a node says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeStatus {
    /// The generation of the node state that it speaks of.
    pub observed_generation: Option<i64>,
    /// Engines that were never reached on the node.
    pub missing_engines: BTreeSet<Engine>,
    /// Each network as the node has it.
    pub reports: ByName<NetworkReport>,
}

impl NodeStatus {
    /// Whether the node was looked at and does not have this engine.
    pub fn lacks(&self, engine: Engine) -> bool {
        self.missing_engines.contains(&engine)
    }
}

/// Where a NetworkAttachmentDefinition is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DefinitionKey {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for DefinitionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// A NetworkAttachmentDefinition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definition {
    /// Identifies this object among all that ever had its name.
    pub uid: String,
    /// The configuration, as JSON text.
    pub config: String,
    /// The value of our label.
    pub label: Option<String>,
    /// The uid of the `UserspaceNetwork` that owns it; none when it is somebody else's.
    pub owner: Option<String>,
    /// The resource that its pods ask for.
    pub resource: Option<String>,
    /// When it was made.
    pub created: Option<Time>,
    /// What a hand-written one asks of us, or why it cannot be used; none when it is for another plugin.
    pub form: Option<Result<Form, InvalidForm>>,
}

impl NodeState {
    /// Whether it is of this node. The state of an earlier node of that name says nothing of this one.
    pub fn is_of(&self, node: &Node) -> bool {
        self.owner.as_ref() == Some(&node.uid)
    }

    /// What the node has of this network by its spec.
    pub fn held(&self, network: &str) -> Option<&Arc<NodeNetwork>> {
        self.networks.as_ref()?.get(network)
    }

    /// What the agent says of this network.
    pub fn report(&self, network: &str) -> Option<&NetworkReport> {
        self.status.as_ref()?.reports.get(network).map(AsRef::as_ref)
    }
}
