//! Step two of a pass, pure: from what people wrote to what every node should have. The same inputs always give the same result, in whatever
//! order they arrived.
//!
//! A network that is refused changes nothing: nodes keep what was compiled for it last, so that no bad edit cuts traffic.

mod claims;
mod placement;

use super::drain::Remains;
use super::from_nad::is_from_nad;
use super::inputs::{Definition, DefinitionKey, Inputs, Namespace, Network};
use claims::Claims;
use kube::core::SelectorExt;
use placement::Placer;
use std::collections::BTreeMap;
use usnet_crds::conditions::reason;
use usnet_crds::definition;
use usnet_crds::validate::ValidNetwork;
use usnet_crds::{NetworkName, NodeNetwork};

/// Networks by name.
pub type Networks = BTreeMap<String, NodeNetwork>;

/// What the cluster should look like.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compiled {
    /// For every node, the networks that it should have.
    pub nodes: BTreeMap<String, Networks>,
    /// The definitions that should be there.
    pub definitions: BTreeMap<DefinitionKey, WantedDefinition>,
    /// For every network that is ours to care for, what became of it.
    pub verdicts: BTreeMap<String, Verdict>,
}

/// A NetworkAttachmentDefinition that should be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedDefinition {
    /// The configuration, as JSON text.
    pub config: String,
    /// The uid of the network that owns it.
    pub owner: String,
}

impl WantedDefinition {
    /// Whether what was found needs no change.
    pub fn is_achieved_by(&self, key: &DefinitionKey, found: &Definition) -> bool {
        found.config == self.config
            && found.owner.as_ref() == Some(&self.owner)
            && found.label.as_ref() == Some(&key.name)
    }
}

/// What became of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It has no finalizer yet; that comes before everything else.
    Starting,
    /// Its nodes and namespaces get it.
    Active,
    /// Something is wrong with its spec: nothing of it changes.
    Refused {
        /// In one word.
        reason: &'static str,
        /// For people.
        message: String,
    },
    /// It is being deleted; with what is left of it on nodes.
    Deleting(Remains),
}

/// Compiles everything.
pub fn compile(inputs: &Inputs) -> Compiled {
    let mut compiled = Compiled {
        nodes: inputs.nodes.keys().map(|node| (node.clone(), Networks::new())).collect(),
        ..Compiled::default()
    };
    let mut placer = Placer { inputs, claims: Claims::held(inputs), nodes: &mut compiled.nodes };
    for (name, network) in by_age(inputs) {
        if let Some(verdict) = judge(&mut placer, name, network) {
            compiled.verdicts.insert(name.clone(), verdict);
        }
    }
    for (name, verdict) in &compiled.verdicts {
        if let (Verdict::Active, Some(network)) = (verdict, inputs.networks.get(name))
            && !is_from_nad(network)
            && let Ok(valid) = &network.spec
        {
            compiled.definitions.extend(definitions(inputs, network, valid));
        }
    }
    compiled
}

/// The oldest first: where two networks want the same, the older has it.
fn by_age(inputs: &Inputs) -> Vec<(&String, &Network)> {
    let mut networks: Vec<_> = inputs.networks.iter().collect();
    networks.sort_by_key(|(name, network)| (network.created.clone(), *name));
    networks
}

/// Decides about one network, and puts it on its nodes. `None` when it goes and has nothing of ours any more.
fn judge<'a>(placer: &mut Placer<'a>, name: &'a str, network: &'a Network) -> Option<Verdict> {
    if network.is_deleting {
        placer.drain_everywhere(name);
        return network.has_finalizer.then(|| Verdict::Deleting(Remains::of(name, placer.inputs)));
    }
    if !network.has_finalizer {
        placer.keep(name);
        return Some(Verdict::Starting);
    }
    let valid = match &network.spec {
        Ok(valid) => valid,
        Err(message) => {
            placer.keep(name);
            return Some(Verdict::Refused { reason: reason::INVALID, message: message.clone() });
        }
    };
    match placer.place(network, valid) {
        Ok(()) => Some(Verdict::Active),
        Err(conflict) => {
            placer.keep(name);
            Some(Verdict::Refused { reason: reason::BRIDGE_CONFLICT, message: conflict.to_string() })
        }
    }
}

/// Namespaces whose pods may attach.
pub(super) fn namespaces<'a>(
    inputs: &'a Inputs,
    network: &'a ValidNetwork,
) -> impl Iterator<Item = (&'a String, &'a Namespace)> {
    inputs.namespaces.iter().filter(|(_, namespace)| network.namespaces.matches(&namespace.labels))
}

/// The definitions of a network: one in each namespace, but for those that are going away or have a foreign one.
fn definitions<'a>(
    inputs: &'a Inputs,
    network: &'a Network,
    valid: &'a ValidNetwork,
) -> impl Iterator<Item = (DefinitionKey, WantedDefinition)> + 'a {
    let open = namespaces(inputs, valid).filter(|(_, namespace)| !namespace.is_deleting);
    open.map(|(namespace, _)| definition_key(namespace, &valid.name))
        .filter(|key| !is_foreign(inputs, key, &valid.name))
        .map(|key| (key, WantedDefinition { config: definition::config(&valid.name), owner: network.uid.clone() }))
}

fn definition_key(namespace: &str, network: &NetworkName) -> DefinitionKey {
    DefinitionKey { namespace: namespace.to_owned(), name: network.to_string() }
}

/// Namespaces in which somebody else's definition has the network's name.
pub(super) fn name_conflicts<'a>(inputs: &'a Inputs, network: &'a ValidNetwork) -> Vec<&'a String> {
    let is_conflict = |namespace: &str| is_foreign(inputs, &definition_key(namespace, &network.name), &network.name);
    namespaces(inputs, network).map(|(namespace, _)| namespace).filter(|namespace| is_conflict(namespace)).collect()
}

/// Ours has our network as its owner. One that lost its owner but says to the letter what ours would say is taken back.
fn is_foreign(inputs: &Inputs, key: &DefinitionKey, network: &NetworkName) -> bool {
    let Some(found) = inputs.definitions.as_ref().and_then(|definitions| definitions.get(key)) else { return false };
    let is_twin = found.label.as_deref() == Some(network.as_str()) && found.config == definition::config(network);
    found.owner.is_none() && !is_twin
}
