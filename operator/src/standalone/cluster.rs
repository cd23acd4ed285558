//! The cluster of one node that a folder of manifests describes: the same inputs as the controller's, so that its `compile` decides here too. Pure.
//!
//! What the API server would know and a folder cannot say is settled here: generations go on from what the node has, a network that is in no file any more is
//! being deleted, and the namespaces are those that somebody names.

use super::definitions::{is_from_definitions, take_in};
use super::document::Object;
use super::folder::Folder;
use super::problem::Problem;
use crate::agent::spec::NodeSpec;
use crate::controller::by_name::ByName;
use crate::controller::inputs::{
    Definition, DefinitionKey, Inputs, Labels, Namespace, Network, Node, NodeState, NodeStatus,
};
use crate::controller::parse;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use kube::core::DeserializeGuard;
use kube::core::error_boundary::InvalidObject;
use std::collections::BTreeMap;
use usnet_crds::{NodeNetwork, UserspaceNetwork};

/// The label that Kubernetes puts on every namespace: its name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Where an object was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub file: String,
    pub document: usize,
    pub line: Option<usize>,
}

/// What a folder describes.
#[derive(Debug, Default)]
pub(super) struct Described {
    pub inputs: Inputs,
    /// Where each network was found; of one that definitions ask for, where the first of these is.
    pub sources: BTreeMap<String, Source>,
    /// Where each definition was found.
    pub definition_sources: BTreeMap<DefinitionKey, Source>,
    /// What has no effect, and why.
    pub problems: Vec<Problem>,
}

/// The node that this is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeFacts<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it should have by now; none before anybody said.
    pub held: Option<&'a NodeSpec>,
    /// What its agent says.
    pub status: &'a NodeStatus,
}

/// Puts the documents of a folder together.
pub(super) fn describe(folder: &Folder, node: NodeFacts<'_>) -> Described {
    let mut described = Described { problems: folder.problems().cloned().collect(), ..Described::default() };
    described.inputs.definitions = Some(BTreeMap::new());
    let held: ByName<NodeNetwork> = node.held.iter().flat_map(|held| &held.networks).cloned().collect();
    let mut labels = well_known_labels(node.name);
    for (file, document) in folder.documents() {
        let source = Source { file: file.to_owned(), document: document.number, line: document.line };
        match &document.object {
            Object::Network { name, network } => {
                described.network(name, network, source, held.get(name).map(AsRef::as_ref));
            }
            Object::Namespace { name, labels } => described.namespace(name, labels),
            Object::Node { name, labels: own } if name == node.name => labels.extend(own.clone()),
            Object::Node { .. } => {}
            Object::Definition { key, definition } => described.definition(key, definition, source),
            Object::Other(problem) => described.problems.push(problem.clone()),
        }
    }
    described.held_without_document(&held, folder.is_complete());
    let inputs = &mut described.inputs;
    inputs.nodes.insert(node.name.to_owned(), Node { labels, is_ready: true, ..Node::default() });
    let state = NodeState {
        generation: node.held.map_or(0, |held| held.generation),
        networks: Some(held),
        status: Some(node.status.clone()),
        ..NodeState::default()
    };
    inputs.states.insert(node.name.to_owned(), state);
    described
}

/// What kubelet would put on the node by itself.
fn well_known_labels(node: &str) -> Labels {
    let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    Labels::from([
        label("kubernetes.io/hostname", node),
        label("kubernetes.io/os", "linux"),
        label("kubernetes.io/arch", architecture),
    ])
}

impl Described {
    /// What the node has and no document says: definitions ask for it, or it goes. While a file could never be read it stays, and so does a network from definitions while
    /// one in its namespaces cannot be read: that may be the one that says it.
    fn held_without_document(&mut self, held: &ByName<NodeNetwork>, is_complete: bool) {
        for network in held.iter() {
            let has_from_nad_label = is_from_definitions(network);
            let gone =
                || Network { has_from_nad_label, ..unusable(network.name.as_str(), "no file that can be read has it") };
            self.inputs.networks.entry(network.name.to_string()).or_insert_with(gone);
        }
        let unreadable = take_in(self, held);
        for network in held.iter().filter(|network| !self.sources.contains_key(network.name.as_str())) {
            let is_meant = is_from_definitions(network) && !unreadable.is_disjoint(&network.allowed_namespaces);
            if let Some(gone) = self.inputs.networks.get_mut(network.name.as_str()) {
                gone.is_deleting = is_complete && !is_meant;
            }
        }
    }

    fn definition(&mut self, key: &DefinitionKey, definition: &Definition, source: Source) {
        if let Some(first) = self.definition_sources.get(key) {
            let message = format!(
                "NetworkAttachmentDefinition {key} is already in {} document {}, which is the one that counts: remove one of the two",
                first.file, first.document
            );
            self.problems.push(source.problem("metadata.name", None, message));
            return;
        }
        self.namespace(&key.namespace, &Labels::new());
        self.inputs.definitions.get_or_insert_default().insert(key.clone(), definition.clone());
        self.definition_sources.insert(key.clone(), source);
    }

    fn namespace(&mut self, name: &str, labels: &Labels) {
        let namespace = self.inputs.namespaces.entry(name.to_owned()).or_insert_with(|| Namespace {
            labels: Labels::from([(NAMESPACE_NAME.to_owned(), name.to_owned())]),
            ..Namespace::default()
        });
        namespace.labels.extend(labels.clone());
    }

    fn network(
        &mut self,
        name: &str,
        read: &Result<Box<UserspaceNetwork>, Vec<Problem>>,
        source: Source,
        held: Option<&NodeNetwork>,
    ) {
        if let Some(first) = self.sources.get(name) {
            let message = format!(
                "network {name} is already in {} document {}, which is the one that counts: remove one of the two",
                first.file, first.document
            );
            self.problems.push(source.problem("metadata.name", Some(name), message));
            return;
        }
        let network = match read {
            Ok(network) => {
                for namespace in named_namespaces(&network.spec.namespace_selector) {
                    self.namespace(&namespace, &Labels::new());
                }
                let (_, network) = parse::network(&DeserializeGuard(Ok(UserspaceNetwork::clone(network))));
                network
            }
            Err(problems) => {
                self.problems.extend(problems.clone());
                unusable(name, "its document cannot be used")
            }
        };
        let mut network = Network {
            generation: held.map_or(0, |held| held.generation),
            is_deleting: false,
            deletion_asked: None,
            has_finalizer: true,
            ..network
        };
        if let Some((field, message)) = held.and_then(|held| fixed_field(&network, held)) {
            self.problems.push(source.problem(field, Some(name), message.clone()));
            network.spec = Err(message);
        }
        self.inputs.networks.insert(name.to_owned(), network);
        self.sources.insert(name.to_owned(), source);
    }
}

impl Source {
    /// Something wrong with the object that was found here, and the network that it is about where there is one.
    pub(super) fn problem(&self, field: &str, network: Option<&str>, message: String) -> Problem {
        Problem {
            file: self.file.clone(),
            document: Some(self.document),
            line: self.line,
            field: field.to_owned(),
            network: network.map(str::to_owned),
            message,
        }
    }
}

/// A network whose spec is not known: what the node has of it stays.
fn unusable(name: &str, why: &str) -> Network {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let object = DeserializeGuard::<UserspaceNetwork>(Err(InvalidObject { error: why.to_owned(), metadata }));
    let (_, network) = parse::network(&object);
    Network { has_finalizer: true, ..network }
}

/// A field that cannot change while the node has the network. The API server refuses such a change; a file has to be taken away first, so that the pods on the old
/// bridge are waited for.
fn fixed_field(network: &Network, held: &NodeNetwork) -> Option<(&'static str, String)> {
    let wanted = network.spec.as_ref().ok()?;
    let (field, is, was) = if wanted.engine != held.engine {
        ("spec.engine", wanted.engine.to_string(), held.engine.to_string())
    } else if wanted.bridge.name != held.bridge.name {
        ("spec.bridge", wanted.bridge.name.to_string(), held.bridge.name.to_string())
    } else {
        return None;
    };
    let message =
        format!("cannot change from {was} to {is}: remove the network, wait until it is gone, and add it again");
    Some((field, message))
}

/// The namespaces that a selector names: those are there, whether or not a document says so.
fn named_namespaces(selector: &LabelSelector) -> Vec<String> {
    let label = selector.match_labels.iter().flatten().filter(|(key, _)| *key == NAMESPACE_NAME);
    let requirements = selector.match_expressions.iter().flatten();
    let listed = requirements.filter(|requirement| requirement.key == NAMESPACE_NAME && requirement.operator == "In");
    let mut names: Vec<String> = label.map(|(_, name)| name.clone()).collect();
    names.extend(listed.flat_map(|requirement| requirement.values.iter().flatten().cloned()));
    names
}
