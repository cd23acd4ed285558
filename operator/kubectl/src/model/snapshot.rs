//! The objects that were read, and what could not be read. Objects of usnet are parsed into the
//! types of the controller, whose functions are applied to them.

use super::added::Added;
use super::claim::Claim;
use super::engine::Engine;
use super::pod::Pod;
use k8s_openapi::jiff::Timestamp;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use usnet_common::api::partial_object::PartialObject;
use usnet_controller::cache::parse;
use usnet_controller::cache::partial_objects::NodeStateObject;
use usnet_controller::cache::{Cache, Nad, NadKey, Network, Node};
use usnet_crds::legacy::NadConfig;
use usnet_crds::userspace_engine::preparation::NodeFacts;
use usnet_crds::{CompiledPolicySpec, UserspaceNodeStateStatus, UserspacePodSliceSpec};

/// Objects that are not essential to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Objects {
    Networks,
    /// The states of nodes.
    States,
    Compiled,
    Uplinks,
    /// UserspaceEngines.
    Engines,
    Nodes,
    Namespaces,
    /// NetworkAttachmentDefinitions.
    Definitions,
    UsnetPods,
    /// The pods of users.
    Pods,
    /// UserspaceAttachments.
    Added,
    /// UserspaceReservations.
    Reservations,
    /// CompiledPolicies, and the UserspacePodSlices with the pods that they select.
    Policies,
    /// ResourceClaims.
    Claims,
    Events,
    /// The Lease of the controllers.
    Lease,
}

/// Something that could not be read, so a report may be incomplete.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Unread {
    pub what: String,
    pub why: String,
}

/// An event of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub reason: String,
    pub message: String,
    /// Whether the event reports a problem.
    pub is_warning: bool,
    /// The time of the last occurrence.
    pub time: Option<Timestamp>,
    pub count: i32,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    pub now: Timestamp,
    /// Has networks, compiled networks, uplinks, namespaces, nodes and node states; the rest is
    /// empty.
    pub cache: Cache,
    /// The full statuses of node states, by node.
    pub reports: BTreeMap<String, UserspaceNodeStateStatus>,
    /// UserspaceEngines, by name.
    pub engines: BTreeMap<String, Engine>,
    /// What is known of the node that is explained, besides.
    pub node_facts: Option<NodeFacts>,
    pub definitions: BTreeMap<NadKey, Nad>,
    /// The only namespace whose definitions were read; `None` if those of all were.
    pub definitions_namespace: Option<String>,
    pub usnet_pods: Vec<Pod>,
    /// The pods of users.
    pub pods: Vec<Pod>,
    pub claims: Vec<Claim>,
    pub added: Vec<Added>,
    /// What nodes enforce of policies.
    pub policies: Vec<CompiledPolicySpec>,
    /// The pods that policies select by labels.
    pub pod_slices: Vec<UserspacePodSliceSpec>,
    /// The events of the pod that is explained, the latest last.
    pub events: Vec<Event>,
    /// The leader of the controllers.
    pub leader: Option<String>,
    /// Objects that were not requested or could not be read.
    pub unread_objects: BTreeSet<Objects>,
    /// What could not be read, for users.
    pub unread: Vec<Unread>,
}

impl Snapshot {
    /// Whether these objects were read. Otherwise their absence means nothing.
    pub(crate) fn has_read(&self, objects: Objects) -> bool {
        !self.unread_objects.contains(&objects)
    }

    /// Whether the NetworkAttachmentDefinitions of a namespace were read.
    pub(crate) fn has_read_definitions(&self, namespace: &str) -> bool {
        let is_in_part = self.definitions_namespace.as_deref().is_none_or(|only| only == namespace);
        self.has_read(Objects::Definitions) && is_in_part
    }

    pub(crate) fn add_state(&mut self, object: &NodeStateObject) {
        let (name, state) = parse::node_state(object);
        let status = object.status.as_deref().and_then(|text| serde_json::from_str(text.get()).ok());
        match status {
            Some(status) => self.reports.insert(name.clone(), status),
            None => self.reports.remove(&name),
        };
        self.cache.states.insert(name, state);
    }

    /// Derives nodes from their states if the user may not read Nodes.
    pub(crate) fn derive_nodes(&mut self) {
        for (name, state) in &self.cache.states {
            let node = || Node {
                uid: state.owner.clone().unwrap_or_default(),
                labels: state.labels.clone(),
                is_ready: true,
                ..Node::default()
            };
            self.cache.nodes.entry(name.clone()).or_insert_with(node);
        }
    }

    /// Returns the pods of a component of usnet.
    pub(crate) fn component<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Pod> {
        self.usnet_pods.iter().filter(move |pod| pod.component.as_deref() == Some(name))
    }

    /// Returns the agent of a node: the newest pod if it is being replaced.
    pub(crate) fn agent(&self, node: &str) -> Option<&Pod> {
        let of_node = self.component(AGENT).filter(|pod| pod.node.as_deref() == Some(node));
        of_node.max_by_key(|pod| (!pod.is_deleting, pod.created))
    }

    /// Returns the network of a NetworkAttachmentDefinition; `None` if the definition does not
    /// exist or is not for usnet.
    pub(crate) fn network_of_definition(&self, namespace: &str, name: &str) -> Option<Result<String, String>> {
        let key = NadKey { namespace: namespace.to_owned(), name: name.to_owned() };
        match self.definitions.get(&key)? {
            Nad::Generated(_) => Some(Ok(name.to_owned())),
            Nad::Other => None,
            Nad::User(nad) => Some(match &nad.config {
                Ok(NadConfig::Network(network)) => Ok(network.to_string()),
                Ok(NadConfig::Legacy(legacy)) => Ok(self.network_of_bridge(legacy)),
                Err(invalid) => Err(invalid.to_string()),
            }),
        }
    }

    fn network_of_bridge(&self, legacy: &usnet_crds::legacy::Legacy) -> String {
        let has_bridge = |network: &Network| {
            let valid = network.spec.as_ref().ok();
            valid.is_some_and(|valid| valid.engine == legacy.engine && valid.bridge.name == legacy.bridge)
        };
        let found = self.cache.networks.iter().find(|(_, network)| has_bridge(network));
        found.map_or_else(|| legacy.network_name().to_string(), |(name, _)| name.clone())
    }

    /// Records that these objects could not be read.
    pub(crate) fn mark_unread(&mut self, objects: Objects, what: &str, why: impl Into<String>) {
        self.unread_objects.insert(objects);
        self.unread.push(Unread { what: what.to_owned(), why: why.into() });
    }
}

pub(crate) const AGENT: &str = "agent";
pub(crate) const CONTROLLER: &str = "controller";
pub(crate) const POLICIES: &str = "policies";

pub(crate) fn name_of<K, Spec, Status>(object: &PartialObject<K, Spec, Status>) -> String {
    object.metadata.name.clone().unwrap_or_default()
}
