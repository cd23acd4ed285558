//! Step two of a pass, pure: from what people wrote to what every node should have. The same inputs always give the same result, in whatever
//! order they arrived. [`compile`] does it for everything; the controller keeps a [`super::ledger::Ledger`] up to date instead.
//!
//! A network that is refused changes nothing: nodes keep what was compiled for it last, so that no bad edit cuts traffic.

pub(super) mod claims;
pub(super) mod definitions;
mod judge;
pub(super) mod placement;

pub(super) use judge::judge;

use super::drain::Remains;
use super::inputs::{Definition, DefinitionKey, Inputs, Namespace};
use super::ledger::Ledger;
use kube::core::SelectorExt;
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_crds::NodeNetwork;
use usnet_crds::validate::ValidNetwork;

/// Networks by name.
pub type Networks = BTreeMap<String, Arc<NodeNetwork>>;

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
    /// The resource that its pods ask for, if the network is one.
    pub resource: Option<String>,
}

impl WantedDefinition {
    /// Whether what was found needs no change.
    pub fn is_achieved_by(&self, key: &DefinitionKey, found: &Definition) -> bool {
        found.config == self.config
            && found.owner.as_ref() == Some(&self.owner)
            && found.label.as_ref() == Some(&key.name)
            && found.resource == self.resource
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

/// Compiles everything, each network against all others.
pub fn compile(inputs: &Inputs) -> Compiled {
    Ledger::from_scratch(inputs).compiled(inputs)
}

/// Namespaces whose pods may attach.
pub(super) fn namespaces<'a>(
    inputs: &'a Inputs,
    network: &'a ValidNetwork,
) -> impl Iterator<Item = (&'a String, &'a Namespace)> {
    inputs.namespaces.iter().filter(|(_, namespace)| network.namespaces.matches(&namespace.labels))
}
