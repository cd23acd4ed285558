//! What hand-written NetworkAttachmentDefinitions ask for, pure: one that names a network is checked, and the bridges that configurations of the
//! older userspace CNI name become networks.
//!
//! There is one network for each engine and bridge, labelled `usnet.dev/from-nad` and named after the bridge ([`NetworkName::for_bridge`]). All
//! definitions that name the bridge join it; the oldest says what the network is like, and the namespaces are theirs. A bridge that a
//! hand-written network claims is joined instead. A network is ours only with the label **and** the name that follows from its bridge: without
//! the label it is a person's, and nothing here touches it. Nobody else's definition is ever written.

mod bridge;
mod spec;
mod words;

use super::diff::Write;
use super::inputs::{Definition, DefinitionKey, Inputs, Network};
use super::notice::Notice;
use bridge::Bridge;
use kube::core::SelectorExt;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::legacy::{Form, InvalidForm, Legacy};
use usnet_crds::validate::ValidNetwork;
use usnet_crds::{BridgeName, Engine, NetworkName};

pub(crate) use spec::network_of;
pub use words::Told;

/// What follows from the definitions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FromNad {
    /// Networks to make, mend or delete.
    pub writes: Vec<Write>,
    /// What people should know now, each at its definition. [`Told`] keeps what they know already.
    pub notices: Vec<Notice>,
    /// Namespaces with a definition that cannot be read: it may ask for any network of theirs.
    pub unreadable: BTreeSet<String>,
}

/// A definition in the older form.
#[derive(Debug, Clone, Copy)]
struct Member<'a> {
    key: &'a DefinitionKey,
    definition: &'a Definition,
    legacy: &'a Legacy,
}

/// Looks at all definitions that have a [form](Definition::form), whose keys these are.
pub fn from_nad(inputs: &Inputs, keys: &BTreeSet<DefinitionKey>) -> FromNad {
    let mut found = FromNad::default();
    // Without the whole list nothing is known to be gone.
    let Some(definitions) = &inputs.definitions else { return found };
    let mut bridges: BTreeMap<(Engine, &BridgeName), Vec<Member<'_>>> = BTreeMap::new();
    let with_form = keys.iter().filter_map(|key| definitions.get_key_value(key));
    for (key, definition) in with_form.filter(|(key, _)| is_open(inputs, key)) {
        match &definition.form {
            None => {}
            Some(Ok(Form::Network(network))) => found.notices.extend(named(inputs, key, definition, network)),
            Some(Ok(Form::Legacy(legacy))) => {
                let members = bridges.entry((legacy.engine, &legacy.bridge)).or_default();
                members.push(Member { key, definition, legacy });
            }
            Some(Err(problem)) => {
                found.unreadable.insert(key.namespace.clone());
                if *problem != InvalidForm::NotJson {
                    found.notices.push(words::invalid(key, definition, problem));
                }
            }
        }
    }
    let mut kept = BTreeSet::new();
    for ((engine, bridge), mut members) in bridges {
        members.sort_by_key(|member| (member.definition.created.clone(), member.key));
        let bridge = Bridge { inputs, engine, bridge, name: NetworkName::for_bridge(engine, bridge) };
        if bridge.decide(&members, &mut found) {
            kept.insert(bridge.name);
        }
    }
    found.writes.extend(surplus(inputs, &kept, &found.unreadable));
    found
}

/// What is in a namespace that is not known yet, or is being deleted, is not looked at.
fn is_open(inputs: &Inputs, key: &DefinitionKey) -> bool {
    inputs.namespaces.get(&key.namespace).is_some_and(|namespace| !namespace.is_deleting)
}

/// Whether the network is ours by its label and its name.
pub(super) fn is_from_nad(network: &Network) -> bool {
    let has_our_name = |valid: &ValidNetwork| NetworkName::for_bridge(valid.engine, &valid.bridge.name) == valid.name;
    network.has_from_nad_label && network.spec.as_ref().map_or(true, has_our_name)
}

/// A definition in our own form. What it cannot do is said; the plugin refuses its pods in any case.
fn named(inputs: &Inputs, key: &DefinitionKey, definition: &Definition, name: &NetworkName) -> Option<Notice> {
    let Some(network) = inputs.networks.get(name.as_str()) else {
        return Some(words::unknown_network(key, definition, name));
    };
    let Ok(valid) = &network.spec else { return None };
    (!admits(inputs, valid, key)).then(|| words::not_selected(key, definition, name))
}

/// Whether pods of the definition's namespace may attach.
fn admits(inputs: &Inputs, network: &ValidNetwork, key: &DefinitionKey) -> bool {
    inputs.namespaces.get(&key.namespace).is_some_and(|namespace| network.namespaces.matches(&namespace.labels))
}

/// Networks of ours that no definition asks for any more. While a definition in one of its namespaces cannot be read a network stays: it may be
/// the one that asks for it, and a slip of the pen must not close a network.
fn surplus<'a>(
    inputs: &'a Inputs,
    kept: &'a BTreeSet<NetworkName>,
    unreadable: &'a BTreeSet<String>,
) -> impl Iterator<Item = Write> + 'a {
    let is_asked_for = |name: &str| kept.iter().any(|kept| kept.as_str() == name);
    let may_be_meant = |network: &Network| {
        let namespaces = unreadable.iter().filter_map(|name| inputs.namespaces.get(name));
        let mut namespaces = namespaces.map(|namespace| &namespace.labels);
        network.spec.as_ref().is_ok_and(|valid| namespaces.any(|labels| valid.namespaces.matches(labels)))
    };
    // Whose name is that of its bridge can only be told of a spec that can be read.
    let is_ours = |network: &Network| network.spec.is_ok() && is_from_nad(network) && !network.is_deleting;
    let ours = inputs.networks.iter().filter(move |(_, network)| is_ours(network));
    ours.filter(move |(name, network)| !is_asked_for(name) && !may_be_meant(network))
        .map(|(name, network)| Write::DeleteNetwork { network: name.clone(), uid: network.uid.clone() })
}
