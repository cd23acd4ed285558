//! Objects as they were read, and what could not be read. Those of usnet are parsed as the
//! controller parses them, so that its functions can be applied to them.

use super::pod::Pod;
use crate::api::partial_object::PartialObject;
use crate::controller::cache::parse;
use crate::controller::cache::partial_objects::NodeStateObject;
use crate::controller::cache::{Cache, Nad, NadKey, Network, Node};
use k8s_openapi::jiff::Timestamp;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::UserspaceNodeStateStatus;
use usnet_crds::legacy::NadConfig;

/// A kind of objects that an answer can do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// CompiledNetworks.
    Compiled,
    /// UserspaceUplinks.
    Uplinks,
    /// Nodes.
    Nodes,
    /// Namespaces.
    Namespaces,
    /// NetworkAttachmentDefinitions.
    Definitions,
    /// The pods of usnet.
    UsnetPods,
    /// Pods of users.
    Pods,
    /// Events.
    Events,
    /// The Lease of the controllers.
    Lease,
}

/// Something that could not be read, so that an answer is incomplete.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Gap {
    /// What.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// An event of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// In one word.
    pub reason: String,
    /// What happened.
    pub message: String,
    /// When it happened last.
    pub time: Option<Timestamp>,
    /// How often.
    pub count: i32,
}

/// Objects as they were read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    /// When.
    pub now: Timestamp,
    /// Networks, compiled networks, uplinks, namespaces, nodes and their states. Its other parts
    /// are empty.
    pub cache: Cache,
    /// The reports of agents by their nodes, with all that users may want to see.
    pub reports: BTreeMap<String, UserspaceNodeStateStatus>,
    /// NetworkAttachmentDefinitions.
    pub definitions: BTreeMap<NadKey, Nad>,
    /// The pods of usnet.
    pub usnet_pods: Vec<Pod>,
    /// Pods of users.
    pub pods: Vec<Pod>,
    /// Events of the pod that is explained, the latest last.
    pub events: Vec<Event>,
    /// The controller that leads.
    pub leader: Option<String>,
    /// What was not read, or could not be.
    pub unread: BTreeSet<Part>,
    /// Why.
    pub gaps: Vec<Gap>,
}

impl Snapshot {
    /// Whether these objects were read. Otherwise nothing follows from their absence.
    pub(crate) fn knows(&self, part: Part) -> bool {
        !self.unread.contains(&part)
    }

    /// Adds the state of a node.
    pub(crate) fn add_state(&mut self, object: &NodeStateObject) {
        let (name, state) = parse::node_state(object);
        let status = object.status.as_deref().and_then(|text| serde_json::from_str(text.get()).ok());
        match status {
            Some(status) => self.reports.insert(name.clone(), status),
            None => self.reports.remove(&name),
        };
        self.cache.states.insert(name, state);
    }

    /// Without the right to read Nodes, what their states say of them.
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

    /// The pods of a program of usnet, by its label.
    pub(crate) fn component<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Pod> {
        self.usnet_pods.iter().filter(move |pod| pod.component.as_deref() == Some(name))
    }

    /// The agent of a node: the newest if it is being replaced.
    pub(crate) fn agent(&self, node: &str) -> Option<&Pod> {
        let of_node = self.component(AGENT).filter(|pod| pod.node.as_deref() == Some(node));
        of_node.max_by_key(|pod| (!pod.is_deleting, pod.created))
    }

    /// What is the network of a NetworkAttachmentDefinition; none if there is no such definition,
    /// or it is not for usnet.
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

    /// Records that these objects cannot be read.
    pub(crate) fn lacks(&mut self, part: Part, what: &str, why: impl Into<String>) {
        self.unread.insert(part);
        self.gaps.push(Gap { what: what.to_owned(), why: why.into() });
    }
}

/// The component of agents.
pub(crate) const AGENT: &str = "agent";
/// The component of controllers.
pub(crate) const CONTROLLER: &str = "controller";

/// The name of an object; empty if it has none.
pub(crate) fn name_of<K, Spec, Status>(object: &PartialObject<K, Spec, Status>) -> String {
    object.metadata.name.clone().unwrap_or_default()
}
