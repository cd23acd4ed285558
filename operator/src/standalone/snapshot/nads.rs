//! The networks that definitions of the userspace CNI (Intel) ask for, merged into the snapshot as if the API server had them. Pure.
//!
//! The controller's [`legacy`] says what has to be written; it is evaluated again with that written, until nothing is left. What the API server would remember is
//! added beside it. A network that the node has, that is in no file, and that is named after its bridge, was made from definitions. And as files have no
//! dates, the definition that asks for what the node has already counts as the oldest, so that no later file changes what pods are on.

use super::manifest_snapshot::ManifestSnapshot;
use super::source::Source;
use crate::controller::cache::nads::UserNad;
use crate::controller::cache::parse;
use crate::controller::cache::{NadKey, Network};
use crate::controller::events::EventRecord;
use crate::controller::legacy::{self, network_of};
use crate::controller::write::Write;
use crate::standalone::baseline::Baseline;
use crate::standalone::problem::Problem;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use std::collections::BTreeSet;
use usnet_crds::legacy::{Legacy, NadConfig};
use usnet_crds::nad::{FROM_NAD_LABEL, FROM_NAD_VALUE};
use usnet_crds::validate::validate;
use usnet_crds::{NetworkName, NodeNetwork, Ownership, UserspaceNetwork, UserspaceNetworkSpec};

/// One round writes everything, and a second finds nothing left: each bridge has one network, which no other definition changes.
const ROUNDS_MAX: usize = 4;

/// Merges what definitions ask for, with what is wrong with them. Returns the namespaces with definitions that cannot be read: a network of theirs may still be
/// meant.
pub(super) fn merge_definitions(snapshot: &mut ManifestSnapshot, baseline: &Baseline) -> BTreeSet<String> {
    order(snapshot, baseline);
    // A folder is written by the node's administrator: there are no tenants to be limited.
    let options = legacy::Options { networks_max: usize::MAX, ..legacy::Options::default() };
    let mut found = legacy::evaluate(&snapshot.cache, &options);
    for _ in 1..ROUNDS_MAX {
        if found.writes.is_empty() {
            break;
        }
        for write in found.writes {
            snapshot.write(write);
        }
        found = legacy::evaluate(&snapshot.cache, &options);
    }
    let problems: Vec<Problem> = found.records.iter().filter_map(|notice| snapshot.problem(notice)).collect();
    snapshot.problems.extend(problems);
    found.unreadable
}

/// Whether a network of the node that is in no file was made from definitions.
pub(super) fn is_from_definitions(network: &NodeNetwork) -> bool {
    network.bridge.ownership == Ownership::Managed
        && NetworkName::for_bridge(network.engine, &network.bridge.name) == network.name
}

/// Puts the definitions of one bridge in order: first those that ask for just what the node has, then by date, then those without one.
fn order(snapshot: &mut ManifestSnapshot, baseline: &Baseline) {
    for (key, definition) in snapshot.cache.nads.user_nads_mut() {
        let Some(legacy) = legacy_of(definition) else { continue };
        let known = baseline.network(legacy.network_name().as_str());
        definition.created = match known.is_some_and(|known| asks_for(legacy, key, known)) {
            true => None,
            false => Some(definition.created.take().unwrap_or(Time(Timestamp::MAX))),
        };
    }
}

const fn legacy_of(definition: &UserNad) -> Option<&Legacy> {
    match &definition.config {
        Ok(NadConfig::Legacy(legacy)) => Some(legacy),
        _ => None,
    }
}

/// Whether the network would be as it is, had this definition alone been there.
fn asks_for(legacy: &Legacy, key: &NadKey, known: &NodeNetwork) -> bool {
    let network = network_of(legacy, &BTreeSet::from([key.namespace.clone()]));
    network.is_ok_and(|(_, valid)| valid.bridge == known.bridge && valid.port == known.port)
}

impl ManifestSnapshot {
    /// What the API server would do.
    fn write(&mut self, write: Write) {
        match write {
            Write::NetworkFromNad { network: name, spec, .. } => {
                if let Some(source) = self.sources.get(&name) {
                    let why = "its spec follows from the definitions of its bridge, which ask for another";
                    self.problems.push(labelled(source, &name, why));
                } else if let Some(source) = self.source_of(&name) {
                    self.sources.insert(name.clone(), source);
                }
                let network = written(&name, *spec);
                self.cache.networks.insert(name, network);
            }
            Write::DeleteNetwork { network: name, .. } => {
                if let Some(source) = self.sources.get(&name) {
                    let why = "it is removed, as no definition asks for its bridge";
                    self.problems.push(labelled(source, &name, why));
                }
                self.delete(&name);
            }
            _ => {}
        }
    }

    /// Where the first definition is that asks for this network.
    fn source_of(&self, network: &str) -> Option<Source> {
        let members = self.cache.nads.user_nads().iter().filter(|(_, definition)| {
            legacy_of(definition).is_some_and(|legacy| legacy.network_name().as_str() == network)
        });
        let (key, _) = members.min_by_key(|(key, definition)| (definition.created.clone(), *key))?;
        self.definition_sources.get(key).cloned()
    }

    /// What would be an event at the definition.
    fn problem(&self, notice: &EventRecord) -> Option<Problem> {
        let object = &notice.regarding;
        let key = NadKey { namespace: object.namespace.clone()?, name: object.name.clone()? };
        let message = notice.message.strip_prefix("spec.config ").unwrap_or(&notice.message).to_owned();
        let source = self.definition_sources.get(&key)?;
        Some(source.problem("spec.config", None, message))
    }
}

/// What is wrong with a document that has the label of networks from definitions.
fn labelled(source: &Source, network: &str, what: &str) -> Problem {
    let message = format!(
        "with the label {FROM_NAD_LABEL} the network is one from definitions, and {what}: remove the label to make it yours, or the document"
    );
    source.problem("metadata.labels", Some(network), message)
}

/// The network as it would be read again.
fn written(name: &str, spec: UserspaceNetworkSpec) -> Network {
    let mut object = UserspaceNetwork::new(name, spec);
    object.labels_mut().insert(FROM_NAD_LABEL.to_owned(), FROM_NAD_VALUE.to_owned());
    let spec = validate(&object).map_err(|invalid| invalid.to_string());
    Network { has_finalizer: true, ..parse::network_with_spec(&object.metadata, spec, None) }
}
