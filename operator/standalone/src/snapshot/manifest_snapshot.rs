//! The cluster of one node that a folder of manifests describes: the same [`Cache`] as the
//! controller's, so that its functions apply. Pure.
//!
//! State that an API server has and a folder cannot contain is derived: a network that is no longer
//! in any file is being deleted, and the existing namespaces are those that are named.

use super::source::Source;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use kube::core::{Expression, Selector};
use std::collections::BTreeMap;
use usnet_controller::cache::parse;
use usnet_controller::cache::{Cache, Labels, Nad, NadKey, Namespace, Network, Uplink};
use usnet_crds::NodeNetwork;
use usnet_node::problem::Problem;

/// The label with the name of a namespace, which Kubernetes adds to every namespace.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

#[derive(Debug, Default)]
pub(crate) struct ManifestSnapshot {
    /// The networks, uplinks, namespaces and NADs. A network without a readable spec stays as the
    /// node has it.
    pub cache: Cache,
    pub labels: Labels,
    /// Where each network was found: a network that NADs request at the first of these.
    pub sources: BTreeMap<String, Source>,
    pub uplink_sources: BTreeMap<String, Source>,
    pub nad_sources: BTreeMap<NadKey, Source>,
    /// The parts of the files that have no effect, and why.
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

    /// Adds an uplink. An invalid one counts as absent: networks that have it keep it.
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

/// A network whose spec is unknown for this reason.
pub(super) fn invalid_network(why: String) -> Network {
    Network { finalizer: Some(0), ..parse::network_with_spec(&ObjectMeta::default(), Err(why), None) }
}

/// Returns a changed field that must not change while the node has the network. The API server
/// rejects such a change; here the network must be removed first, so that the old bridge drains.
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

/// The namespaces that a selector names. They count as existing, whether or not a document
/// describes them.
fn named_namespaces(selector: &Selector) -> Vec<String> {
    let names = selector.clone().into_iter().flat_map(|expression| match expression {
        Expression::Equal(key, name) if key == NAMESPACE_NAME => vec![name],
        Expression::In(key, names) if key == NAMESPACE_NAME => names.into_iter().collect(),
        _ => Vec::new(),
    });
    names.collect()
}
