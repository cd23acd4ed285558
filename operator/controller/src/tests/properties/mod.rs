//! Properties of every cluster.

mod actions;

use super::super::cache::Cache;
use super::super::cache::objects::Selection;
use super::super::compile::Stage;
use super::super::write::{FinalizerChange, Write};
use super::model::{Agent, Cluster, sorted};
use actions::{NAMES, event, perform, spec};
use kube::core::SelectorExt;
use proptest::prelude::*;
use std::collections::BTreeSet;
use usnet_crds::node_selection::selects;
use usnet_crds::{CompiledNetworkSpec, NetworkName, Phase, ValidUplink};

/// A pass with all invariants checked. [`Cluster::pass`] itself compares the incremental evaluation
/// with an evaluation of everything.
fn checked_pass(cluster: &mut Cluster) {
    let before = cluster.cache.clone();
    let users = before.nads.user_nads().clone();
    for write in cluster.pass() {
        match write {
            Write::Compiled { network, .. } => {
                assert_ne!(
                    Stage::of(&before, &network, &before.networks[&network]),
                    Stage::New,
                    "{network} is compiled before its finalizer"
                );
            }
            Write::Finalizer { network, change: FinalizerChange::Remove { .. }, .. } => {
                let is_forced = before.networks[&network].force_delete.as_deref() == Some(&network);
                let uses = cluster.attachments.iter().filter(|((node, name), count)| {
                    **count > 0 && *name == network && is_known_user(cluster, &before, node, name)
                });
                assert!(is_forced || uses.count() == 0, "{network} is deleted while pods use it");
            }
            Write::UplinkFinalizer { uplink, change: FinalizerChange::Remove { .. }, .. } => {
                let uses =
                    |spec: &CompiledNetworkSpec| spec.uplink.as_ref().is_some_and(|it| it.name.as_str() == uplink);
                assert!(!cluster.compiled.values().any(uses), "{uplink} is deleted while a network uses it");
            }
            Write::Nad { key, .. } | Write::DeleteNad { key } => {
                assert!(!users.contains_key(&key) && !before.nads.is_taken(&key.name, &key.namespace));
            }
            _ => {}
        }
    }
}

/// Whether the node carries the network and its agent can report it. Nodes newer than the deletion
/// do not count, and neither do nodes whose status was lost, unless they are ready and their state
/// was recreated since.
fn is_known_user(cluster: &Cluster, before: &Cache, node: &str, name: &str) -> bool {
    let is_older = before.nodes.get(node).is_some_and(|it| it.created < before.networks[name].deleted);
    let carries = |agent: &Agent| agent.spec.networks.iter().any(|held| held.name.as_str() == name);
    let state = before.states.get(node);
    let is_recreated = state.is_none_or(|state| state.created > before.networks[name].deleted);
    let can_report = is_recreated && before.nodes.get(node).is_some_and(|it| it.is_ready);
    let is_lost = state.is_none_or(|state| state.status.is_none()) && !can_report;
    is_older && !is_lost && cluster.agents.get(node).is_some_and(carries) && !cluster.without_agent.contains(node)
}

/// The uplink of a compiled network.
fn uplink<'a>(cluster: &'a Cluster, selection: &Selection) -> Option<&'a ValidUplink> {
    cluster.cache.uplinks.get(selection.uplink.as_ref()?.name.as_str())?.spec.as_ref().ok()
}

/// No two networks have one VLAN on an uplink, and each network has its uplink on its nodes.
fn assert_uplinks(cluster: &Cluster, node: &str, agent: &Agent) {
    let is_refused = |name: &NetworkName| agent.spec.refused.iter().any(|refused| refused.name == *name);
    let mut vlans = BTreeSet::new();
    for network in &agent.spec.networks {
        let Some(uplink) = &network.uplink else { continue };
        assert!(agent.spec.uplinks.contains_key(&uplink.name), "{node} lacks {uplink:?}");
        // What drains, or is kept in an earlier form, may have the VLAN of another one.
        let is_current = network.phase == Phase::Active && !is_refused(&network.name);
        assert!(!is_current || vlans.insert(uplink), "two networks share {uplink:?} on {node}");
    }
    for (name, uplink) in &cluster.cache.uplinks {
        let status = uplink.status.as_ref().unwrap();
        let users =
            cluster.compiled.iter().filter(|(_, it)| it.uplink.as_ref().is_some_and(|it| it.name.as_str() == name));
        let users: Vec<_> = users.map(|(name, _)| name.clone()).collect();
        assert_eq!(status.networks, users, "networks of {name}");
        assert!(!uplink.is_deleting() || !users.is_empty(), "{name} is not used and not deleted");
    }
}

/// The networks that an agent carries are those that the controller counts its node for.
fn assert_same_selection(cluster: &Cluster) {
    for (node, agent) in &cluster.agents {
        if cluster.without_agent.contains(node) {
            continue;
        }
        let (Some(found), state) = (cluster.cache.nodes.get(node), &cluster.cache.states[node]) else { continue };
        let missing = &state.status.as_ref().unwrap().missing;
        let selected = cluster.cache.compiled.iter().filter(|(_, compiled)| {
            let selection = compiled.selection.as_ref().unwrap();
            selection.phase == Phase::Active
                && selects(
                    selection.nodes.as_ref(),
                    selection.engine,
                    uplink(cluster, selection),
                    &found.labels,
                    missing,
                )
        });
        let selected: BTreeSet<&str> = selected.map(|(name, _)| name.as_str()).collect();
        let active = agent.spec.networks.iter().filter(|network| network.phase == Phase::Active);
        let refused = agent.spec.refused.iter().map(|refused| refused.name.as_str());
        let carried: BTreeSet<&str> = active.map(|network| network.name.as_str()).chain(refused).collect();
        assert_eq!(carried, selected, "on {node}");
        assert_peers(cluster, node, agent);
        assert_uplinks(cluster, node, agent);
        let mut bridges: Vec<_> =
            agent.spec.networks.iter().map(|network| (network.engine, &network.bridge.name)).collect();
        bridges.sort();
        bridges.dedup();
        assert_eq!(bridges.len(), agent.spec.networks.len(), "two networks share a bridge on {node}");
    }
}

/// The peers of an overlay are all other nodes that a network of its segment selects. Networks of
/// different engines share a segment if both name its VNI.
fn assert_peers(cluster: &Cluster, own: &str, agent: &Agent) {
    let is_refused = |name: &str| agent.spec.refused.iter().any(|refused| refused.name.as_str() == name);
    let active = agent.spec.networks.iter().filter(|network| network.phase == Phase::Active);
    for network in active.filter(|network| !is_refused(network.name.as_str())) {
        let selection = cluster.cache.compiled[network.name.as_str()].selection.clone().unwrap();
        assert_eq!(network.overlay.as_ref().map(|it| it.vni), selection.overlay.map(|it| it.vni), "{}", network.name);
        let Some(overlay) = &network.overlay else { continue };
        // A node without an address keeps what it had.
        let Some(local) = cluster.cache.nodes[own].addresses.first() else { continue };
        assert_eq!(overlay.local, *local);
        let others = cluster.cache.nodes_with_states().filter(|(name, _, state)| *name != own && state.is_some());
        let is_of_segment = |other: &&Selection| {
            other.overlay.as_ref().is_some_and(|it| (it.vni, it.port) == (overlay.vni, overlay.port))
        };
        let segment = cluster.cache.compiled.values().filter_map(|it| it.selection.as_ref()).filter(is_of_segment);
        let selectors: Vec<_> = segment.map(|it| it.nodes.as_ref()).collect();
        let selected = others
            .filter(|(_, node, _)| selectors.iter().any(|selector| selector.is_none_or(|it| it.matches(&node.labels))));
        let addresses: BTreeSet<_> = selected.filter_map(|(_, node, _)| node.addresses.first().copied()).collect();
        let addresses = addresses.into_iter().filter(|address| address != local).collect::<BTreeSet<_>>();
        assert_eq!(*overlay.peers, addresses, "{} on {own}", network.name);
    }
}

/// Addresses and pods belong to one entry of a compiled network.
fn assert_no_address_twice(cluster: &Cluster) {
    for (name, compiled) in &cluster.compiled {
        let mut addresses: Vec<_> = compiled.attachments.iter().flat_map(|fixed| fixed.addresses()).collect();
        addresses.sort();
        let count = addresses.len();
        addresses.dedup();
        assert_eq!(addresses.len(), count, "{name}");
        for (place, one) in compiled.attachments.iter().enumerate() {
            let rest = &compiled.attachments[place + 1..];
            let is_same =
                |other: &&usnet_crds::FixedAttachment| one.namespace == other.namespace && one.pod.overlaps(&other.pod);
            assert_eq!(rest.iter().find(is_same), None, "{name}");
        }
    }
}

fn without_vni(mut spec: serde_json::Value) -> serde_json::Value {
    if let Some(overlay) = spec.pointer_mut("/topology/overlay").and_then(serde_json::Value::as_object_mut) {
        overlay.remove("vni");
    }
    spec
}

proptest! {
    #[test]
    fn every_cluster_settles_and_both_sides_select_the_same(events in prop::collection::vec(event(), 1..40)) {
        let mut cluster = Cluster::new();
        for event in events {
            perform(&mut cluster, event);
        }
        cluster.settle();
        assert_same_selection(&cluster);
        assert_no_address_twice(&cluster);
        prop_assert_eq!(cluster.pass(), Vec::new());
        prop_assert_eq!(sorted(&cluster.evaluate_everything()).len(), 0, "a new leader finds nothing to do");
    }

    #[test]
    fn the_order_of_arrival_does_not_matter(specs in prop::collection::vec((0..NAMES.len(), spec()), 1..8), turn in any::<prop::sample::Index>()) {
        // The first to be compiled has a VNI.
        let specs: Vec<_> = specs.into_iter().map(|(name, spec)| (name, without_vni(spec))).collect();
        let mut cluster = Cluster::new();
        for (name, spec) in &specs {
            cluster.network(NAMES[*name], spec);
        }
        let networks: Vec<_> = cluster.cache.networks.clone().into_iter().collect();
        cluster.settle();
        let mut other = Cluster::new();
        let middle = turn.index(networks.len());
        for (name, network) in networks[middle..].iter().chain(&networks[..middle]).cloned() {
            other.cache.networks.insert(name, network);
            other.pass();
        }
        other.settle();
        prop_assert_eq!(cluster.compiled, other.compiled);
    }
}
