//! The cluster of one node that a folder of manifests describes: the same [`Cache`] as the
//! controller's, so that its functions apply. Pure.
//!
//! State that an API server has and a folder cannot contain is derived here: a network that is no
//! longer in any file is being deleted, and the namespaces are those that are named.

use super::source::Source;
use crate::controller::cache::parse;
use crate::controller::cache::{Cache, Labels, Nad, NadKey, Namespace, Network, Uplink};
use crate::standalone::problem::Problem;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use kube::core::{Expression, Selector};
use std::collections::BTreeMap;
use usnet_crds::NodeNetwork;

/// The label that Kubernetes puts on every namespace: its name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// What a folder describes.
#[derive(Debug, Default)]
pub(in crate::standalone) struct ManifestSnapshot {
    /// Networks, namespaces and NADs. A network without a readable spec stays as the node has it.
    pub cache: Cache,
    /// The labels of the node.
    pub labels: Labels,
    /// Where each network was found; for one that NADs request, where the first of these is.
    pub sources: BTreeMap<String, Source>,
    /// Where each uplink was found.
    pub uplink_sources: BTreeMap<String, Source>,
    /// Where each NAD was found.
    pub nad_sources: BTreeMap<NadKey, Source>,
    /// What has no effect, and why.
    pub problems: Vec<Problem>,
}

impl ManifestSnapshot {
    /// Marks a network as being deleted.
    pub(super) fn delete(&mut self, name: &str) {
        if let Some(network) = self.cache.networks.get_mut(name) {
            network.deleted = Some(Time(Timestamp::UNIX_EPOCH));
        }
    }

    pub(super) fn nad(&mut self, key: &NadKey, nad: &Nad, source: Source) {
        if let Some(first) = self.nad_sources.get(key) {
            let problem = source.duplicate_of(first, &format!("NetworkAttachmentDefinition {key}"), None);
            self.problems.push(problem);
            return;
        }
        self.namespace(&key.namespace, &Labels::new());
        self.cache.nads.insert(key.clone(), nad.clone());
        self.nad_sources.insert(key.clone(), source);
    }

    /// One that is not valid counts as absent: networks that have it keep it.
    pub(super) fn uplink(&mut self, name: &str, read: &Result<Box<Uplink>, Vec<Problem>>, source: Source) {
        if let Some(first) = self.uplink_sources.get(name) {
            self.problems.push(source.duplicate_of(first, &format!("uplink {name}"), None));
            return;
        }
        match read {
            Ok(uplink) => drop(self.cache.uplinks.insert(name.to_owned(), Uplink::clone(uplink))),
            Err(problems) => self.problems.extend(problems.clone()),
        }
        self.uplink_sources.insert(name.to_owned(), source);
    }

    pub(super) fn namespace(&mut self, name: &str, labels: &Labels) {
        let namespace = self.cache.namespaces.entry(name.to_owned()).or_insert_with(|| Namespace {
            labels: Labels::from([(NAMESPACE_NAME.to_owned(), name.to_owned())]),
            ..Namespace::default()
        });
        namespace.labels.extend(labels.clone());
    }

    pub(super) fn network(
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
                invalid_network("its document is invalid".to_owned())
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

/// A network whose spec is not known, and why.
pub(super) fn invalid_network(why: String) -> Network {
    Network { finalizer: Some(0), ..parse::network_with_spec(&ObjectMeta::default(), Err(why), None) }
}

/// A field that cannot change while the node has the network. The API server rejects such a change;
/// here the network must be removed first, so that the old bridge drains.
fn fixed_field(network: &Network, held: &NodeNetwork) -> Option<(&'static str, String)> {
    let desired = network.spec.as_ref().ok()?;
    let (field, is, was) = if desired.engine != held.engine {
        ("spec.engine", desired.engine.to_string(), held.engine.to_string())
    } else if desired.bridge.name != held.bridge.name {
        ("spec.bridge", desired.bridge.name.to_string(), held.bridge.name.to_string())
    } else {
        return None;
    };
    let message =
        format!("cannot change from {was} to {is}: remove the network, wait until it is deleted, and add it again");
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
