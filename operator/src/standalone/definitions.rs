//! The networks that definitions of the older userspace CNI ask for, taken in as if the API server had them. Pure.
//!
//! What is to be written the controller's [`from_nad`] says; here it is looked at again with that written, until nothing is left. What the API server would remember is
//! settled beside it. A network that the node has, that is in no file, and that is named after its bridge, was made from definitions. And where files say no dates the
//! definition that asks for what the node has already was there first, so that no later file changes what pods are on.

use super::cluster::{Described, Source};
use super::problem::Problem;
use crate::controller::by_name::ByName;
use crate::controller::diff::Write;
use crate::controller::from_nad::{from_nad, network_of};
use crate::controller::inputs::{Definition, DefinitionKey, Network};
use crate::controller::notice::Notice;
use crate::controller::parse;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::core::DeserializeGuard;
use std::collections::BTreeSet;
use usnet_crds::definition::{FROM_NAD_LABEL, FROM_NAD_VALUE};
use usnet_crds::legacy::{Form, Legacy};
use usnet_crds::{NetworkName, NodeNetwork, Ownership, UserspaceNetwork, UserspaceNetworkSpec};

/// One round writes everything, and a second finds nothing left: each bridge has one network, which no other definition changes.
const ROUNDS_MAX: usize = 4;

/// Takes in what definitions ask for, with what is wrong with them. Gives the namespaces with definitions that cannot be read: a network of theirs may still be meant.
pub(super) fn take_in(described: &mut Described, held: &ByName<NodeNetwork>) -> BTreeSet<String> {
    order(described, held);
    let definitions = described.inputs.definitions.iter().flatten();
    let asking = definitions.filter(|(_, definition)| definition.form.is_some()).map(|(key, _)| key.clone());
    let keys: BTreeSet<DefinitionKey> = asking.collect();
    let mut found = from_nad(&described.inputs, &keys);
    for _ in 1..ROUNDS_MAX {
        if found.writes.is_empty() {
            break;
        }
        for write in found.writes {
            described.write(write, held);
        }
        found = from_nad(&described.inputs, &keys);
    }
    let problems: Vec<Problem> = found.notices.iter().filter_map(|notice| described.problem(notice)).collect();
    described.problems.extend(problems);
    found.unreadable
}

/// Whether a network of the node that is in no file was made from definitions.
pub(super) fn is_from_definitions(network: &NodeNetwork) -> bool {
    network.bridge.ownership == Ownership::Managed
        && NetworkName::for_bridge(network.engine, &network.bridge.name) == network.name
}

/// Puts the definitions of one bridge in order: first those that ask for just what the node has, then by date, then those without one.
fn order(described: &mut Described, held: &ByName<NodeNetwork>) {
    for (key, definition) in described.inputs.definitions.iter_mut().flatten() {
        let Some(legacy) = legacy(definition) else { continue };
        let is_held = held.get(legacy.network_name().as_str()).is_some_and(|held| asks_for(legacy, key, held));
        definition.created = match is_held {
            true => None,
            false => Some(definition.created.take().unwrap_or(Time(Timestamp::MAX))),
        };
    }
}

fn legacy(definition: &Definition) -> Option<&Legacy> {
    match &definition.form {
        Some(Ok(Form::Legacy(legacy))) => Some(legacy),
        _ => None,
    }
}

/// Whether the network would be as the node has it, had this definition alone been there.
fn asks_for(legacy: &Legacy, key: &DefinitionKey, held: &NodeNetwork) -> bool {
    let network = network_of(legacy, &BTreeSet::from([key.namespace.clone()]));
    network.is_ok_and(|(_, valid)| valid.bridge == held.bridge && valid.port == held.port)
}

impl Described {
    /// What the API server would do.
    fn write(&mut self, write: Write, held: &ByName<NodeNetwork>) {
        match write {
            Write::NetworkFromNad { network: name, spec, .. } => {
                if let Some(source) = self.sources.get(&name) {
                    self.problems.push(labelled(
                        source,
                        &name,
                        "its spec follows from the definitions of its bridge, which ask for another",
                    ));
                } else if let Some(source) = self.source_of(&name) {
                    self.sources.insert(name.clone(), source);
                }
                let network = written(&name, *spec, held.get(&name).map(AsRef::as_ref));
                self.inputs.networks.insert(name, network);
            }
            Write::DeleteNetwork { network: name, .. } => {
                if let Some(source) = self.sources.get(&name) {
                    self.problems.push(labelled(source, &name, "it goes, as no definition asks for its bridge"));
                }
                if let Some(network) = self.inputs.networks.get_mut(&name) {
                    network.is_deleting = true;
                }
            }
            _ => {}
        }
    }

    /// Where the first definition is that asks for this network.
    fn source_of(&self, network: &str) -> Option<Source> {
        let definitions = self.inputs.definitions.iter().flatten();
        let members = definitions.filter(|(_, definition)| {
            legacy(definition).is_some_and(|legacy| legacy.network_name().as_str() == network)
        });
        let (key, _) = members.min_by_key(|(key, definition)| (definition.created.clone(), *key))?;
        self.definition_sources.get(key).cloned()
    }

    /// What would be an event at the definition.
    fn problem(&self, notice: &Notice) -> Option<Problem> {
        let object = &notice.regarding;
        let key = DefinitionKey { namespace: object.namespace.clone()?, name: object.name.clone()? };
        let message = notice.message.strip_prefix("spec.config ").unwrap_or(&notice.message).to_owned();
        let source = self.definition_sources.get(&key)?;
        Some(source.problem("spec.config", None, message))
    }
}

/// What a document with our label has to do with its file.
fn labelled(source: &Source, network: &str, what: &str) -> Problem {
    let message = format!(
        "with the label {FROM_NAD_LABEL} the network is one from definitions, and {what}: remove the label to make it yours, or the document"
    );
    source.problem("metadata.labels", Some(network), message)
}

/// The network as it would be read again.
fn written(name: &str, spec: UserspaceNetworkSpec, held: Option<&NodeNetwork>) -> Network {
    let mut object = UserspaceNetwork::new(name, spec);
    object.labels_mut().insert(FROM_NAD_LABEL.to_owned(), FROM_NAD_VALUE.to_owned());
    let (_, network) = parse::network(&DeserializeGuard(Ok(object)));
    Network { generation: held.map_or(0, |held| held.generation), has_finalizer: true, ..network }
}
