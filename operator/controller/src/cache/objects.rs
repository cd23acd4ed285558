//! The cached part of each kind of object.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::core::{Selector, SelectorExt};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use usnet_common::shares::Shares;
use usnet_crds::attachment::node::REQUESTED_MAX;
use usnet_crds::nad::{FROM_NAD_LABEL, FROM_NAD_VALUE};
use usnet_crds::network::{Definitions, SHARED_NAMESPACE, SYSTEM_NAMESPACES};
use usnet_crds::node_state::{AffectedPod, EngineEnd, NetworkReport};
use usnet_crds::uplink::report::UplinkReport;
use usnet_crds::validate::ValidNetwork;
use usnet_crds::{
    AttachmentReport, CompiledOverlay, EngineKind, FixedAttachment, Gateway, NetworkName, NetworkUplink, Phase,
    RequestedAttachment, UplinkName, UserspaceNetworkStatus, UserspaceUplinkStatus, ValidUplink,
};

/// The maximum number of attachments for which it is remembered when they were withdrawn.
const UNREQUESTED_MAX: usize = 4 * REQUESTED_MAX;

pub type Labels = BTreeMap<String, String>;

/// A `UserspaceNetwork`.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    pub uid: String,
    pub generation: i64,
    pub created: Option<Time>,
    /// When its deletion was requested; none while it was not.
    pub deleted: Option<Time>,
    /// The index of usnet's finalizer, if it is set.
    pub finalizer: Option<usize>,
    /// The value of the annotation [`usnet_crds::network::FORCE_DELETE`].
    pub force_delete: Option<String>,
    /// Whether it has the label of networks generated from NetworkAttachmentDefinitions.
    pub has_from_nad_label: bool,
    pub spec: Result<ValidNetwork, String>,
    /// The status that was written last.
    pub status: Option<UserspaceNetworkStatus>,
}

impl Network {
    /// The number of attached interfaces of pods in the status.
    pub fn attachments(&self) -> i64 {
        self.status.as_ref().map_or(0, |status| status.attachments)
    }

    /// The order of networks by age, the oldest first, and by name.
    pub(crate) fn age<'a>(&'a self, name: &'a str) -> impl Ord + 'a {
        (self.created.is_none(), self.created.as_ref(), name)
    }

    pub const fn is_deleting(&self) -> bool {
        self.deleted.is_some()
    }

    pub const fn has_finalizer(&self) -> bool {
        self.finalizer.is_some()
    }

    /// Whether the network was generated from NADs, by its label and its name. Without the label it
    /// is a user's.
    pub fn is_from_nad(&self) -> bool {
        let follows_from_bridge =
            |valid: &ValidNetwork| NetworkName::for_bridge(valid.engine, &valid.bridge.name) == valid.name;
        self.has_from_nad_label && self.spec.as_ref().map_or(true, follows_from_bridge)
    }

    /// Whether the network needs a NAD in this namespace. A network that was generated from NADs
    /// has none of its own.
    pub fn needs_nad(&self, valid: &ValidNetwork, name: &str, namespace: &Namespace) -> bool {
        let selects = || match valid.definitions {
            Definitions::Shared => name == SHARED_NAMESPACE,
            Definitions::PerNamespace if valid.namespaces.selects_all() => !SYSTEM_NAMESPACES.contains(&name),
            Definitions::PerNamespace => valid.namespaces.matches(&namespace.labels),
        };
        !namespace.is_deleting && !self.is_from_nad() && selects()
    }

    pub const FROM_NAD: (&'static str, &'static str) = (FROM_NAD_LABEL, FROM_NAD_VALUE);
}

/// A `CompiledNetwork`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compiled {
    pub uid: String,
    pub version: u64,
    /// The uid of the UserspaceNetwork that owns the compiled network.
    pub owner: Option<String>,
    /// Identifies the content of the spec; none when it cannot be read.
    pub fingerprint: Option<u64>,
    /// What the names of pods fix.
    pub attachments: Vec<FixedAttachment>,
    /// What agents select by; none when the spec is unreadable.
    pub selection: Option<Selection>,
}

/// The part of a compiled network by which nodes are selected.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// The generation of the UserspaceNetwork.
    pub generation: i64,
    pub phase: Phase,
    pub engine: EngineKind,
    /// The node selector; none selects the nodes that have the engine.
    pub nodes: Option<Selector>,
    /// The overlay that nodes have.
    pub overlay: Option<CompiledOverlay>,
    /// The uplink that nodes connect it to.
    pub uplink: Option<NetworkUplink>,
    /// The gateway that nodes have.
    pub gateway: Option<Gateway>,
}

impl Selection {
    /// The uplink that the network needs on each node: the one that it is connected to, or over
    /// which its engine sends encapsulated packets.
    pub fn uplink_name(&self) -> Option<&UplinkName> {
        let underlay = || self.overlay.as_ref()?.underlay.as_ref();
        self.uplink.as_ref().map(|uplink| &uplink.name).or_else(underlay)
    }
}

/// A `UserspaceUplink`.
#[derive(Debug, Clone, PartialEq)]
pub struct Uplink {
    pub uid: String,
    pub generation: i64,
    /// When its deletion was requested; none while it was not.
    pub deleted: Option<Time>,
    /// The index of usnet's finalizer, if it is set.
    pub finalizer: Option<usize>,
    pub spec: Result<ValidUplink, String>,
    /// The status that was written last.
    pub status: Option<UserspaceUplinkStatus>,
}

impl Uplink {
    pub const fn is_deleting(&self) -> bool {
        self.deleted.is_some()
    }

    pub const fn has_finalizer(&self) -> bool {
        self.finalizer.is_some()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Namespace {
    /// The labels, by which networks select it.
    pub labels: Labels,
    /// Whether the namespace is being deleted: nothing can be created in it.
    pub is_deleting: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    pub uid: String,
    pub created: Option<Time>,
    /// The labels, by which networks select it.
    pub labels: Labels,
    /// Whether the condition Ready is True.
    pub is_ready: bool,
    /// The addresses of the type InternalIP.
    pub addresses: Vec<IpAddr>,
}

/// A `UserspaceNodeSlice`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeSlice {
    pub uid: String,
    /// Identifies the content of the spec; none when it cannot be read.
    pub fingerprint: Option<u64>,
}

/// A `UserspaceNodeState`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeState {
    pub uid: String,
    pub created: Option<Time>,
    /// The uid of the node that owns it.
    pub owner: Option<String>,
    pub generation: i64,
    /// The generation since which number and labels are as they are. An agent selects networks by
    /// these.
    pub selected_generation: i64,
    /// The number of the node; none when the spec cannot be read.
    pub number: Option<u32>,
    /// The labels of the node as its agent knows them.
    pub labels: Labels,
    /// The attachments that are requested of the node.
    pub attachments: Vec<RequestedAttachment>,
    /// Attachments that were requested, with the generation since which they are not requested.
    pub unrequested: BTreeMap<String, i64>,
    /// What the agent reports; none before its first report.
    pub status: Option<NodeStatus>,
}

/// What the agent of a node reports.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeStatus {
    /// The generation of the node state that the agent reports on.
    pub observed_generation: Option<i64>,
    /// The resourceVersion up to which compiled networks are programmed.
    pub through: u64,
    /// Engines that were never reachable on the node.
    pub missing: BTreeSet<EngineKind>,
    /// Engines that are not connected, including missing ones, with the agent's message.
    pub down: BTreeMap<EngineKind, String>,
    /// Networks that are not programmed, or have pods.
    pub reports: BTreeMap<String, NetworkReport>,
    /// The last end of each engine that the agent has seen.
    pub engine_ends: Vec<EngineEnd>,
    /// Pods whose engine is down, or whose network is being removed.
    pub affected_pods: Vec<AffectedPod>,
    pub uplinks: BTreeMap<String, UplinkReport>,
    /// Attachments by the uid of their object.
    pub attachments: BTreeMap<String, AttachmentReport>,
}

impl NodeState {
    /// Whether the state belongs to this node, and not to an earlier node of the same name.
    pub fn is_of(&self, node: &Node) -> bool {
        self.owner.as_ref() == Some(&node.uid)
    }

    /// The places for attachments of the node, and the namespaces that have them.
    pub(crate) fn places(&self) -> Shares<'_> {
        let mut places = Shares::halves(REQUESTED_MAX);
        self.attachments.iter().for_each(|entry| places.take(entry.namespace.as_str()));
        places
    }

    /// Whether an attachment can be requested of the node that could not before.
    pub(crate) fn has_more_room_than(&self, before: Option<&Self>) -> bool {
        if self.status.is_none() {
            return false;
        }
        let Some(before) = before.filter(|before| before.status.is_some()) else { return true };
        let (places, earlier) = (self.places(), before.places());
        let mut candidates = earlier.namespaces().chain([""]);
        candidates.any(|namespace| places.may_take(namespace) && !earlier.may_take(namespace))
    }

    /// The generation of the node state since which this attachment is not requested.
    pub fn unrequested_since(&self, uid: &str) -> i64 {
        self.unrequested.get(uid).copied().unwrap_or(self.generation)
    }

    /// Whether the agent has observed number and labels of the node.
    pub fn is_observed(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.observed_generation >= Some(self.selected_generation))
    }

    /// Takes over from `before` since when the number, the labels and the withdrawn attachments are
    /// as they are: a request of an attachment must not make all networks of the node wait for its
    /// agent.
    pub fn continues(&mut self, before: &Self) {
        let selection = |state: &Self| (state.uid.clone(), state.number, state.labels.clone());
        if selection(self) == selection(before) {
            self.selected_generation = self.selected_generation.min(before.selected_generation);
        }
        if self.uid == before.uid {
            self.continue_unrequested(before);
        }
    }

    /// Takes over since when attachments are not requested: while many are deleted, the agent is
    /// always behind the last change.
    fn continue_unrequested(&mut self, before: &Self) {
        self.unrequested.clone_from(&before.unrequested);
        let now: BTreeSet<&str> = self.attachments.iter().map(|entry| entry.uid.as_str()).collect();
        let ended = before.attachments.iter().filter(|entry| !now.contains(entry.uid.as_str()));
        self.unrequested.extend(ended.map(|entry| (entry.uid.clone(), self.generation)));
        self.unrequested.retain(|uid, _| !now.contains(uid.as_str()));
        if self.unrequested.len() > UNREQUESTED_MAX {
            // For forgotten attachments the last change counts.
            self.unrequested.clear();
        }
    }

    /// What the agent reports of this network.
    pub fn report(&self, network: &str) -> Option<&NetworkReport> {
        self.status.as_ref()?.reports.get(network)
    }
}
