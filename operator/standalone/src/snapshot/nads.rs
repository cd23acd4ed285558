//! Adds the networks that NADs of the Userspace CNI (Intel) request to the snapshot, as if the API
//! server had them. Pure.
//!
//! The controller's [`legacy`] returns the necessary writes. These are applied to the snapshot,
//! which is then evaluated again, until no write is left. What the API server would store is
//! derived: a network that the node has, that is in no file, and that is named after its bridge,
//! was generated from NADs. Files have no creation date, so that the NAD that requests what the
//! node already has counts as the oldest: a file that is added later never changes the network of
//! running pods.

use super::manifest_snapshot::ManifestSnapshot;
use super::source::Source;
use crate::baseline::Baseline;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use std::collections::BTreeSet;
use usnet_controller::cache::nads::UserNad;
use usnet_controller::cache::parse;
use usnet_controller::cache::{NadKey, Network};
use usnet_controller::events::EventRecord;
use usnet_controller::legacy;
use usnet_controller::write::Write;
use usnet_crds::legacy::{Legacy, NadConfig, network_of};
use usnet_crds::nad::{FROM_NAD_LABEL, FROM_NAD_VALUE};
use usnet_crds::validate::validate;
use usnet_crds::{NetworkName, NodeNetwork, Ownership, UserspaceNetwork, UserspaceNetworkSpec};
use usnet_node::problem::Problem;

/// The maximum number of rounds. One round writes everything, and a second finds nothing left,
/// because each bridge has one network that no other NAD changes. The rest is a margin that ensures
/// that the evaluation ends.
const ROUNDS_MAX: usize = 4;

/// Adds the networks that NADs request, and the problems of NADs. Returns the namespaces with
/// unreadable NADs, which may request any network of their namespace.
pub(super) fn merge_nads(snapshot: &mut ManifestSnapshot, baseline: &Baseline) -> BTreeSet<String> {
    order(snapshot, baseline);
    // A folder is written by the node's administrator: there are no tenants to limit.
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
    let problems: Vec<Problem> = found.records.iter().filter_map(|record| snapshot.problem(record)).collect();
    snapshot.problems.extend(problems);
    found.unreadable
}

/// Whether a network of the node that is in no file was generated from NADs.
pub(super) fn is_from_nads(network: &NodeNetwork) -> bool {
    network.bridge.ownership == Ownership::Managed
        && NetworkName::for_bridge(network.engine, &network.bridge.name) == network.name
}

/// Orders the NADs of each bridge: first those that request exactly what the node has, then by
/// date, then those without a date.
fn order(snapshot: &mut ManifestSnapshot, baseline: &Baseline) {
    for (key, nad) in snapshot.cache.nads.user_nads_mut() {
        let Some(legacy) = legacy_of(nad) else { continue };
        let known = baseline.network(legacy.network_name().as_str());
        nad.created = match known.is_some_and(|known| requests(legacy, key, known)) {
            true => None,
            false => Some(nad.created.take().unwrap_or(Time(Timestamp::MAX))),
        };
    }
}

const fn legacy_of(nad: &UserNad) -> Option<&Legacy> {
    match &nad.config {
        Ok(NadConfig::Legacy(legacy)) => Some(legacy),
        _ => None,
    }
}

/// Whether this NAD alone results in the present network.
fn requests(legacy: &Legacy, key: &NadKey, known: &NodeNetwork) -> bool {
    let network = network_of(legacy, &BTreeSet::from([key.namespace.clone()]));
    network.is_ok_and(|(_, valid)| valid.bridge == known.bridge && valid.port == known.port)
}

impl ManifestSnapshot {
    /// Applies a write as the API server would.
    fn write(&mut self, write: Write) {
        match write {
            Write::NetworkFromNad { network: name, spec, .. } => {
                if let Some(source) = self.sources.get(&name) {
                    let why = "the NetworkAttachmentDefinitions of its bridge request another spec";
                    self.problems.push(labelled(source, &name, why));
                } else if let Some(source) = self.source_of(&name) {
                    self.sources.insert(name.clone(), source);
                }
                let network = written(&name, *spec);
                self.cache.networks.insert(name, network);
            }
            Write::DeleteNetwork { network: name, .. } => {
                if let Some(source) = self.sources.get(&name) {
                    let why = "it is deleted, because no NetworkAttachmentDefinition requests its bridge";
                    self.problems.push(labelled(source, &name, why));
                }
                self.delete(&name);
            }
            _ => {}
        }
    }

    /// The document of the oldest NAD that requests this network.
    fn source_of(&self, network: &str) -> Option<Source> {
        let members = self
            .cache
            .nads
            .user_nads()
            .iter()
            .filter(|(_, nad)| legacy_of(nad).is_some_and(|legacy| legacy.network_name().as_str() == network));
        let (key, _) = members.min_by_key(|(key, nad)| (nad.created.clone(), *key))?;
        self.nad_sources.get(key).cloned()
    }

    /// Converts an event of a NAD into a problem.
    fn problem(&self, record: &EventRecord) -> Option<Problem> {
        let object = &record.regarding;
        let key = NadKey { namespace: object.namespace.clone()?, name: object.name.clone()? };
        let message = record.message.strip_prefix("spec.config ").unwrap_or(&record.message).to_owned();
        let source = self.nad_sources.get(&key)?;
        Some(source.problem("spec.config", None, message))
    }
}

/// A problem of a document with the label of networks that are generated from NADs.
fn labelled(source: &Source, network: &str, what: &str) -> Problem {
    let message = format!(
        "the label {FROM_NAD_LABEL} marks the network as generated from NetworkAttachmentDefinitions, and {what}: remove the label, or the document"
    );
    source.problem("metadata.labels", Some(network), message)
}

/// Returns the network as it would be read after the write.
fn written(name: &str, spec: UserspaceNetworkSpec) -> Network {
    let mut object = UserspaceNetwork::new(name, spec);
    object.labels_mut().insert(FROM_NAD_LABEL.to_owned(), FROM_NAD_VALUE.to_owned());
    let spec = validate(&object).map_err(|invalid| invalid.to_string());
    Network { finalizer: Some(0), ..parse::network_with_spec(&object.metadata, spec, None) }
}
