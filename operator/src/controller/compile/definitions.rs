//! The definitions of one network: which should be there, and what is in their way.

use super::super::from_nad::is_from_nad;
use super::super::inputs::{Definition, DefinitionKey, Inputs, Network};
use super::{Verdict, WantedDefinition, namespaces};
use std::collections::BTreeSet;
use usnet_crds::NetworkName;
use usnet_crds::definition;
use usnet_crds::device::resource_name;
use usnet_crds::validate::ValidNetwork;

/// How the definitions of one network are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in super::super) struct Definitions {
    /// How many should be there.
    pub(in super::super) wanted: usize,
    /// How many of these are.
    pub(in super::super) achieved: usize,
    /// Namespaces that have a definition of the same name which is not ours.
    pub(in super::super) conflicts: Vec<String>,
    /// Namespaces where one has to be written.
    pub(in super::super) missing: Vec<String>,
    /// Those of ours that nobody needs, by namespace, with their uids.
    pub(in super::super) surplus: Vec<(String, String)>,
    /// Some are still there that are ours.
    pub(in super::super) has_ours: bool,
}

impl Definitions {
    /// Compares what should be there with what is. `ours` are the namespaces that have a definition of this name that is ours.
    ///
    /// Kubernetes may end a namespace with definitions still in it, which was seen soon after a start of its API server. Nobody can use these, and
    /// nobody delete them: admission looks for their namespace first. They count again when there is a namespace of that name.
    pub(in super::super) fn of(
        inputs: &Inputs,
        name: &str,
        verdict: Option<&Verdict>,
        ours: Option<&BTreeSet<String>>,
    ) -> Self {
        let is_there = |namespace: &&String| inputs.namespaces.contains_key(*namespace);
        let ours: Vec<&String> = ours.into_iter().flatten().filter(is_there).collect();
        let mut found = Self { has_ours: !ours.is_empty(), ..Self::default() };
        let mut needed = BTreeSet::new();
        if let Some((network, valid)) = valid(inputs, name) {
            found.conflicts = name_conflicts(inputs, network, valid);
            if matches!(verdict, Some(Verdict::Active)) {
                let config = wanted_definition(network, valid);
                for key in wanted_keys(inputs, network, valid) {
                    found.wanted += 1;
                    if existing(inputs, &key).is_some_and(|it| config.is_achieved_by(&key, it)) {
                        found.achieved += 1;
                    } else if inputs.definitions.is_some() {
                        found.missing.push(key.namespace.clone());
                    }
                    needed.insert(key.namespace);
                }
            }
        }
        // What is in a namespace that is being deleted goes with it.
        let is_open = |namespace: &String| inputs.namespaces.get(namespace).is_some_and(|it| !it.is_deleting);
        // The network is gone, or no longer selects the namespace. One that is to go does not wait for namespaces to go first.
        let is_surplus = |namespace: &String| match verdict {
            None => true,
            Some(Verdict::Active) => !needed.contains(namespace) && is_open(namespace),
            Some(Verdict::Deleting(remains)) => remains.let_go(name),
            Some(Verdict::Starting | Verdict::Refused { .. }) => false,
        };
        for namespace in ours.into_iter().filter(|namespace| is_surplus(namespace)) {
            let key = DefinitionKey { namespace: namespace.clone(), name: name.to_owned() };
            found.surplus.extend(existing(inputs, &key).map(|it| (namespace.clone(), it.uid.clone())));
        }
        found
    }
}

fn valid<'a>(inputs: &'a Inputs, name: &str) -> Option<(&'a Network, &'a ValidNetwork)> {
    let network = inputs.networks.get(name)?;
    Some((network, network.spec.as_ref().ok()?))
}

/// What each definition of a network should say.
pub(in super::super) fn wanted_definition(network: &Network, valid: &ValidNetwork) -> WantedDefinition {
    WantedDefinition {
        config: definition::config(&valid.name),
        owner: network.uid.clone(),
        resource: valid.device_plugin.map(|_| resource_name(&valid.name)),
    }
}

/// Where the definitions of a network should be: in each of its namespaces, but for those that are going away or have a foreign one. A network that
/// was made from definitions has none of its own.
pub(in super::super) fn wanted_keys<'a>(
    inputs: &'a Inputs,
    network: &Network,
    valid: &'a ValidNetwork,
) -> impl Iterator<Item = DefinitionKey> + 'a {
    let makes_some = !is_from_nad(network);
    let open = namespaces(inputs, valid).filter(move |(_, namespace)| makes_some && !namespace.is_deleting);
    open.map(|(namespace, _)| definition_key(namespace, &valid.name))
        .filter(|key| !is_foreign(inputs, key, &valid.name))
}

fn definition_key(namespace: &str, network: &NetworkName) -> DefinitionKey {
    DefinitionKey { namespace: namespace.to_owned(), name: network.to_string() }
}

/// Namespaces in which somebody else's definition has the name that ours would have.
fn name_conflicts(inputs: &Inputs, network: &Network, valid: &ValidNetwork) -> Vec<String> {
    if is_from_nad(network) {
        return Vec::new();
    }
    let is_conflict = |namespace: &str| is_foreign(inputs, &definition_key(namespace, &valid.name), &valid.name);
    let conflicts = namespaces(inputs, valid).map(|(namespace, _)| namespace);
    conflicts.filter(|namespace| is_conflict(namespace)).cloned().collect()
}

fn existing<'a>(inputs: &'a Inputs, key: &DefinitionKey) -> Option<&'a Definition> {
    inputs.definitions.as_ref()?.get(key)
}

/// Ours has our network as its owner. One that lost its owner but says to the letter what ours would say is taken back.
fn is_foreign(inputs: &Inputs, key: &DefinitionKey, network: &NetworkName) -> bool {
    let Some(found) = existing(inputs, key) else { return false };
    let is_twin = found.label.as_deref() == Some(network.as_str()) && found.config == definition::config(network);
    found.owner.is_none() && !is_twin
}
