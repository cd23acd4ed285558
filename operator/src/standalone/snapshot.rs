//! The cluster of one node that a folder of manifests describes: the same [`Cache`] as the controller's, so that its functions apply. Pure.
//!
//! What the API server would know and a folder cannot say is added here: a network that is in no file any more is being deleted, and the namespaces are those
//! that are named.

use super::baseline::Baseline;
use super::definitions::{is_from_definitions, merge_definitions};
use super::document::Object;
use super::folder::Folder;
use super::problem::Problem;
use crate::controller::cache::{Cache, Labels, Nad, NadKey, NadSet, Namespace, Network};
use crate::controller::watch::parse;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use kube::core::{Expression, Selector};
use std::collections::BTreeMap;
use usnet_crds::NodeNetwork;

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
pub(super) struct ManifestSnapshot {
    /// Networks, namespaces and definitions. A network without a readable spec stays as the node has it.
    pub cache: Cache,
    /// The labels of the node.
    pub labels: Labels,
    /// Where each network was found; of one that definitions ask for, where the first of these is.
    pub sources: BTreeMap<String, Source>,
    /// Where each definition was found.
    pub definition_sources: BTreeMap<NadKey, Source>,
    /// What has no effect, and why.
    pub problems: Vec<Problem>,
}

impl ManifestSnapshot {
    /// Puts the documents of a folder together, for the node of this name.
    pub(super) fn of(folder: &Folder, node: &str, baseline: &Baseline) -> Self {
        let cache = Cache { nads: NadSet::none(), ..Cache::default() };
        let problems = folder.problems().cloned().collect();
        let mut snapshot = Self { cache, labels: well_known_labels(node), problems, ..Self::default() };
        for (file, document) in folder.documents() {
            let source = Source { file: file.to_owned(), document: document.number, line: document.line };
            match &document.object {
                Object::Network { name, network } => snapshot.network(name, network, source, baseline.held(name)),
                Object::Namespace { name, labels } => snapshot.namespace(name, labels),
                Object::Node { name, labels } if name == node => snapshot.labels.extend(labels.clone()),
                Object::Node { .. } => {}
                Object::Definition { key, definition } => snapshot.definition(key, definition, source),
                Object::Other(problem) => snapshot.problems.push(problem.clone()),
            }
        }
        snapshot.networks_missing_manifest(baseline, folder.is_complete());
        snapshot
    }

    /// Networks that were there and are in no document: definitions ask for them, or they are being deleted. While a file could never be read they stay, and so
    /// does a network from definitions while one in its namespaces cannot be read: that may be the one that asks for it.
    fn networks_missing_manifest(&mut self, baseline: &Baseline, is_complete: bool) {
        for network in baseline.networks() {
            let missing = || Network {
                has_from_nad_label: is_from_definitions(network),
                ..invalid_network("no file that can be read has it".to_owned())
            };
            self.cache.networks.entry(network.name.to_string()).or_insert_with(missing);
        }
        let unreadable = merge_definitions(self, baseline);
        for network in baseline.networks() {
            let has_manifest = self.sources.contains_key(network.name.as_str());
            let may_be_meant = is_from_definitions(network) && !unreadable.is_disjoint(&network.namespaces.names);
            if is_complete && !has_manifest && !may_be_meant {
                self.delete(network.name.as_str());
            }
        }
    }

    /// Marks a network as being deleted.
    pub(super) fn delete(&mut self, name: &str) {
        if let Some(network) = self.cache.networks.get_mut(name) {
            network.deleted = Some(Time(Timestamp::UNIX_EPOCH));
        }
    }

    fn definition(&mut self, key: &NadKey, definition: &Nad, source: Source) {
        if let Some(first) = self.definition_sources.get(key) {
            let problem = source.duplicate_of(first, &format!("NetworkAttachmentDefinition {key}"), None);
            self.problems.push(problem);
            return;
        }
        self.namespace(&key.namespace, &Labels::new());
        self.cache.nads.insert(key.clone(), definition.clone());
        self.definition_sources.insert(key.clone(), source);
    }

    fn namespace(&mut self, name: &str, labels: &Labels) {
        let namespace = self.cache.namespaces.entry(name.to_owned()).or_insert_with(|| Namespace {
            labels: Labels::from([(NAMESPACE_NAME.to_owned(), name.to_owned())]),
            ..Namespace::default()
        });
        namespace.labels.extend(labels.clone());
    }

    fn network(
        &mut self,
        name: &str,
        read: &Result<Box<Network>, Vec<Problem>>,
        source: Source,
        held: Option<&NodeNetwork>,
    ) {
        if let Some(first) = self.sources.get(name) {
            self.problems.push(source.duplicate_of(first, &format!("network {name}"), Some(name)));
            return;
        }
        let mut network = match read {
            Ok(network) => Network::clone(network),
            Err(problems) => {
                self.problems.extend(problems.clone());
                invalid_network("its document cannot be used".to_owned())
            }
        };
        if let Ok(valid) = &network.spec {
            for namespace in named_namespaces(&valid.namespaces) {
                self.namespace(&namespace, &Labels::new());
            }
        }
        if let Some((field, message)) = held.and_then(|held| fixed_field(&network, held)) {
            self.problems.push(source.problem(field, Some(name), message.clone()));
            network.spec = Err(message);
        }
        self.cache.networks.insert(name.to_owned(), network);
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

    fn duplicate_of(&self, first: &Self, what: &str, network: Option<&str>) -> Problem {
        let message = format!(
            "{what} is already in {} document {}, which is the one that counts: remove one of the two",
            first.file, first.document
        );
        self.problem("metadata.name", network, message)
    }
}

/// The labels that kubelet puts on every node.
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

/// A network whose spec is not known, and why.
fn invalid_network(why: String) -> Network {
    Network { has_finalizer: true, ..parse::network_with_spec(&ObjectMeta::default(), Err(why), None) }
}

/// A field that cannot change while the node has the network. The API server rejects such a change; here the network has to be removed first, so that the pods
/// on the old bridge are waited for.
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

/// The namespaces that a selector names: they exist, whether or not a document describes them.
fn named_namespaces(selector: &Selector) -> Vec<String> {
    let names = selector.clone().into_iter().flat_map(|expression| match expression {
        Expression::Equal(key, name) if key == NAMESPACE_NAME => vec![name],
        Expression::In(key, names) if key == NAMESPACE_NAME => names.into_iter().collect(),
        _ => Vec::new(),
    });
    names.collect()
}
