//! Evaluates all NADs of users.

use super::bridge::{BridgeOwners, LegacyBridge};
use super::evaluation::LegacyEvaluation;
use super::member::{Member, admits};
use super::messages;
use super::options::{Conversion, Options};
use crate::cache::nads::{Availability, UserNad};
use crate::cache::{Cache, NadKey, Network};
use crate::events::EventRecord;
use crate::write::Write;
use kube::core::SelectorExt;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::legacy::{InvalidNadConfig, NadConfig};
use usnet_crds::{BridgeName, EngineKind, NetworkName};

/// Evaluates all NADs of users.
pub fn evaluate(cache: &Cache, options: &Options) -> LegacyEvaluation {
    let mut evaluation = LegacyEvaluation::default();
    // While the list is incomplete, a missing NAD may exist.
    if cache.nads.availability != Availability::Known {
        return evaluation;
    }
    let mut bridges: BTreeMap<(EngineKind, &BridgeName), Vec<Member<'_>>> = BTreeMap::new();
    for (key, nad) in cache.nads.user_nads().iter().filter(|(key, _)| is_active(cache, key)) {
        let ipam_problem = nad.ipam_problem.as_ref().filter(|_| nad.config.is_ok());
        evaluation.records.extend(ipam_problem.map(|problem| messages::ipam_problem(key, nad, problem)));
        match &nad.config {
            Ok(NadConfig::Network(network)) => evaluation.records.extend(check_named_network(cache, key, nad, network)),
            Ok(NadConfig::Legacy(legacy)) if options.converts(cache, &key.namespace) => {
                let members = bridges.entry((legacy.engine, &legacy.bridge)).or_default();
                members.push(Member { key, nad, legacy });
            }
            Ok(NadConfig::Legacy(_)) => {}
            Err(problem) => {
                evaluation.unreadable.insert(key.namespace.clone());
                if *problem != InvalidNadConfig::NotJson {
                    evaluation.records.push(messages::invalid(key, nad, problem));
                }
            }
        }
    }
    if options.conversion == Conversion::Disabled {
        return evaluation;
    }
    let desired = create(cache, options, bridges, &mut evaluation);
    evaluation.writes.extend(unused_networks(cache, &desired, &evaluation.unreadable));
    evaluation
}

/// Evaluates each bridge: first those that have their network, then in the order in which they were
/// named; returns the desired networks.
fn create<'a>(
    cache: &'a Cache,
    options: &Options,
    bridges: BTreeMap<(EngineKind, &'a BridgeName), Vec<Member<'a>>>,
    evaluation: &mut LegacyEvaluation,
) -> BTreeSet<NetworkName> {
    let owners = BridgeOwners::of(cache);
    let mut ordered: Vec<(LegacyBridge<'_>, Vec<Member<'_>>)> = Vec::with_capacity(bridges.len());
    for ((engine, bridge), mut members) in bridges {
        members.sort_by_key(|member| (member.nad.created.clone(), member.key));
        let name = NetworkName::for_bridge(engine, bridge);
        ordered.push((LegacyBridge { cache, owners: &owners, engine, bridge, name }, members));
    }
    ordered.sort_by_cached_key(|(bridge, members)| {
        let oldest = members.first().map(|oldest| (oldest.nad.created.clone(), oldest.key));
        (bridge.is_new(), oldest, bridge.engine, bridge.bridge)
    });
    let (mut desired, mut counts) = (BTreeSet::new(), BTreeMap::<&str, usize>::new());
    for (bridge, members) in ordered {
        let Some(oldest) = members.first() else { continue };
        let count = counts.entry(&oldest.key.namespace).or_default();
        if *count >= options.networks_max && bridge.is_new() {
            evaluation.records.push(messages::too_many_networks(oldest, options.networks_max));
            continue;
        }
        if bridge.reconcile(&members, evaluation) {
            *count += 1;
            desired.insert(bridge.name);
        }
    }
    desired
}

/// NADs in unknown or terminating namespaces are not evaluated.
fn is_active(cache: &Cache, key: &NadKey) -> bool {
    cache.namespaces.get(&key.namespace).is_some_and(|namespace| !namespace.is_deleting)
}

/// Checks a NAD that names a network. Problems are reported; the plugin rejects its pods in any
/// case.
fn check_named_network(cache: &Cache, key: &NadKey, nad: &UserNad, name: &NetworkName) -> Option<EventRecord> {
    let Some(network) = cache.networks.get(name.as_str()) else {
        return Some(messages::unknown_network(key, nad, name));
    };
    let Ok(valid) = &network.spec else { return None };
    if !admits(cache, valid, key) {
        return Some(messages::not_selected(key, nad, name));
    }
    (nad.has_ipam && valid.ipam.is_some()).then(|| messages::ipam_ignored(key, nad, name))
}

/// Generated networks that no NAD requests any more. While a NAD in one of its namespaces is
/// unreadable a network stays: that NAD may be the one that requests it, and a typing error must
/// not delete a network.
fn unused_networks<'a>(
    cache: &'a Cache,
    desired: &'a BTreeSet<NetworkName>,
    unreadable: &'a BTreeSet<String>,
) -> impl Iterator<Item = Write> + 'a {
    let is_requested = |name: &str| name.parse::<NetworkName>().is_ok_and(|name| desired.contains(&name));
    let may_be_requested = |network: &Network| {
        let namespaces = unreadable.iter().filter_map(|name| cache.namespaces.get(name));
        let mut namespaces = namespaces.map(|namespace| &namespace.labels);
        network.spec.as_ref().is_ok_and(|valid| namespaces.any(|labels| valid.namespaces.matches(labels)))
    };
    // Whether the name follows from the bridge is known only when the spec is readable.
    let is_created = |network: &Network| network.spec.is_ok() && network.is_from_nad() && !network.is_deleting();
    let created = cache.networks.iter().filter(move |(_, network)| is_created(network));
    created
        .filter(move |(name, network)| !is_requested(name) && !may_be_requested(network))
        .map(|(name, network)| Write::DeleteNetwork { network: name.clone(), uid: network.uid.clone() })
}
