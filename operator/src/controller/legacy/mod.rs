//! What users' NetworkAttachmentDefinitions ask for, pure: one that names a network is checked, and the bridges that configurations of the userspace CNI
//! (Intel) name become networks.
//!
//! There is one network for each engine and bridge, labelled `usnet.dev/from-nad` and named after the bridge ([`NetworkName::for_bridge`]). All
//! definitions that name the bridge join it; the oldest defines the network, and the namespaces are theirs. A bridge that a user's network has is
//! joined instead. A network belongs to definitions only with the label **and** the name that follows from its bridge: without the label it is a user's,
//! and nothing here changes it. No definition of a user is ever written.
//!
//! Any tenant who may write definitions can ask for networks on all nodes. So conversion can be switched off, limited to namespaces, and is limited to
//! a number of networks for each namespace; everything that follows from it comes last in every queue.

mod bridge;
mod messages;
mod options;
mod spec;

pub use messages::Reported;
pub use options::{Conversion, Options};
pub(crate) use spec::network_of;

use super::cache::definitions::{Availability, HandWritten};
use super::cache::{Cache, DefinitionKey, Network};
use super::events::Notice;
use super::write::Write;
use bridge::{Bridge, Owners};
use kube::core::SelectorExt;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::legacy::{Form, InvalidForm, Legacy};
use usnet_crds::validate::ValidNetwork;
use usnet_crds::{BridgeName, Engine, NetworkName};

/// Most networks that definitions of one namespace create, unless the controller is told another number.
pub const NETWORKS_MAX: usize = 32;

/// What follows from the definitions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Consequences {
    /// Networks to create, restore or delete.
    pub writes: Vec<Write>,
    /// What users should know now, each at its definition. [`Reported`] keeps what was reported already.
    pub notices: Vec<Notice>,
    /// Namespaces with a definition that cannot be read: it may ask for any network of theirs.
    pub unreadable: BTreeSet<String>,
}

/// A definition of the userspace CNI.
#[derive(Debug, Clone, Copy)]
struct Member<'a> {
    key: &'a DefinitionKey,
    definition: &'a HandWritten,
    legacy: &'a Legacy,
}

/// Evaluates all definitions of users.
pub fn evaluate(cache: &Cache, options: &Options) -> Consequences {
    let mut found = Consequences::default();
    // Without the whole list nothing is known to be gone.
    if cache.definitions.availability != Availability::Known {
        return found;
    }
    let mut bridges: BTreeMap<(Engine, &BridgeName), Vec<Member<'_>>> = BTreeMap::new();
    for (key, definition) in cache.definitions.hand_written().iter().filter(|(key, _)| is_open(cache, key)) {
        match &definition.form {
            Ok(Form::Network(network)) => found.notices.extend(named(cache, key, definition, network)),
            Ok(Form::Legacy(legacy)) if options.converts(cache, &key.namespace) => {
                let members = bridges.entry((legacy.engine, &legacy.bridge)).or_default();
                members.push(Member { key, definition, legacy });
            }
            Ok(Form::Legacy(_)) => {}
            Err(problem) => {
                found.unreadable.insert(key.namespace.clone());
                if *problem != InvalidForm::NotJson {
                    found.notices.push(messages::invalid(key, definition, problem));
                }
            }
        }
    }
    if options.conversion == Conversion::Disabled {
        return found;
    }
    let kept = create(cache, options, bridges, &mut found);
    found.writes.extend(surplus(cache, &kept, &found.unreadable));
    found
}

/// Decides about each bridge, those first that have their network and then those that were named first; gives back the networks that should be there.
fn create<'a>(
    cache: &'a Cache,
    options: &Options,
    bridges: BTreeMap<(Engine, &'a BridgeName), Vec<Member<'a>>>,
    found: &mut Consequences,
) -> BTreeSet<NetworkName> {
    let owners = Owners::of(cache);
    let mut ordered: Vec<(Bridge<'_>, Vec<Member<'_>>)> = Vec::with_capacity(bridges.len());
    for ((engine, bridge), mut members) in bridges {
        members.sort_by_key(|member| (member.definition.created.clone(), member.key));
        let name = NetworkName::for_bridge(engine, bridge);
        ordered.push((Bridge { cache, owners: &owners, engine, bridge, name }, members));
    }
    ordered.sort_by_cached_key(|(bridge, members)| {
        let oldest = members.first().map(|oldest| (oldest.definition.created.clone(), oldest.key));
        (bridge.is_new(), oldest, bridge.engine, bridge.bridge)
    });
    let (mut kept, mut counts) = (BTreeSet::new(), BTreeMap::<&str, usize>::new());
    for (bridge, members) in ordered {
        let Some(oldest) = members.first() else { continue };
        let count = counts.entry(&oldest.key.namespace).or_default();
        if *count >= options.networks_max && bridge.is_new() {
            found.notices.push(messages::too_many_networks(oldest, options.networks_max));
            continue;
        }
        if bridge.decide(&members, found) {
            *count += 1;
            kept.insert(bridge.name);
        }
    }
    kept
}

/// What is in a namespace that is not known yet, or is being deleted, is not evaluated.
fn is_open(cache: &Cache, key: &DefinitionKey) -> bool {
    cache.namespaces.get(&key.namespace).is_some_and(|namespace| !namespace.is_deleting)
}

/// A definition that names a network. What it cannot do is reported; the plugin rejects its pods in any case.
fn named(cache: &Cache, key: &DefinitionKey, definition: &HandWritten, name: &NetworkName) -> Option<Notice> {
    let Some(network) = cache.networks.get(name.as_str()) else {
        return Some(messages::unknown_network(key, definition, name));
    };
    let Ok(valid) = &network.spec else { return None };
    (!admits(cache, valid, key)).then(|| messages::not_selected(key, definition, name))
}

/// Whether pods of the definition's namespace may attach.
fn admits(cache: &Cache, network: &ValidNetwork, key: &DefinitionKey) -> bool {
    cache.namespaces.get(&key.namespace).is_some_and(|namespace| network.namespaces.matches(&namespace.labels))
}

/// Networks of definitions that no definition asks for any more. While a definition in one of its namespaces cannot be read a network stays: that may be
/// the one that asks for it, and a typing error must not delete a network.
fn surplus<'a>(
    cache: &'a Cache,
    kept: &'a BTreeSet<NetworkName>,
    unreadable: &'a BTreeSet<String>,
) -> impl Iterator<Item = Write> + 'a {
    let is_asked_for = |name: &str| name.parse::<NetworkName>().is_ok_and(|name| kept.contains(&name));
    let may_be_meant = |network: &Network| {
        let namespaces = unreadable.iter().filter_map(|name| cache.namespaces.get(name));
        let mut namespaces = namespaces.map(|namespace| &namespace.labels);
        network.spec.as_ref().is_ok_and(|valid| namespaces.any(|labels| valid.namespaces.matches(labels)))
    };
    // Whether its name is that of its bridge can only be known of a spec that can be read.
    let is_created = |network: &Network| network.spec.is_ok() && network.is_from_nad() && !network.is_deleting();
    let created = cache.networks.iter().filter(move |(_, network)| is_created(network));
    created
        .filter(move |(name, network)| !is_asked_for(name) && !may_be_meant(network))
        .map(|(name, network)| Write::DeleteNetwork { network: name.clone(), uid: network.uid.clone() })
}
