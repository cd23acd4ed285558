//! What holds for every cluster.

mod happening;

use super::super::compile::{Verdict, compile};
use super::super::diff::Write;
use super::super::feed::{Before, Feed};
use super::super::inputs::Inputs;
use super::model::Cluster;
use happening::{NAMES, event, happen, spec};
use kube::runtime::watcher::Event;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A pass with all that must hold in it.
fn watched_pass(cluster: &mut Cluster) {
    let before = cluster.inputs.clone();
    let compiled = cluster.compiled();
    for (node, networks) in &compiled.nodes {
        let mut bridges: Vec<_> = networks.values().map(|network| (network.engine, &network.bridge.name)).collect();
        bridges.sort();
        bridges.dedup();
        assert_eq!(bridges.len(), networks.len(), "two networks share a bridge on {node}");
        for name in
            networks.keys().filter(|name| before.states.get(node).is_none_or(|state| state.held(name).is_none()))
        {
            assert!(before.networks[name].has_finalizer, "{name} came to {node} before its finalizer");
            assert_eq!(compiled.verdicts[name], Verdict::Active);
        }
        let in_use = before.states.get(node).and_then(|state| state.status.as_ref());
        for report in in_use.iter().flat_map(|status| status.reports.iter()).filter(|report| report.attachments > 0) {
            let was_held = before.states[node].held(&report.name).is_some();
            if was_held && before.networks.contains_key(&report.name) {
                assert!(networks.contains_key(&report.name), "pods on {node} lose {}", report.name);
            }
        }
    }
    for write in cluster.pass() {
        if let Write::Definition { key, .. } | Write::DeleteDefinition { key, .. } = write {
            let found = before.definitions.as_ref().unwrap().get(&key);
            assert!(found.is_none_or(|found| found.owner.is_some()), "wrote somebody else's {key}");
        }
    }
}

proptest! {
    #[test]
    fn every_cluster_settles_and_what_is_achieved_is_left_alone(events in prop::collection::vec(event(), 1..40)) {
        let mut cluster = Cluster::new();
        for event in events {
            happen(&mut cluster, event);
        }
        cluster.settle();
        prop_assert_eq!(cluster.pass(), Vec::new());
    }

    #[test]
    fn the_order_of_arrival_does_not_matter(specs in prop::collection::vec((0..NAMES.len(), spec()), 1..8), shuffle in any::<prop::sample::Index>()) {
        let mut cluster = Cluster::new();
        for (name, spec) in specs {
            cluster.network(NAMES[name], &spec);
            cluster.inputs.networks.get_mut(NAMES[name]).unwrap().has_finalizer = true;
        }
        let mut arriving: Vec<_> = cluster.inputs.networks.clone().into_iter().collect();
        let middle = shuffle.index(arriving.len());
        arriving.rotate_left(middle);
        let (mut feed, mut networks) = (Feed::default(), BTreeMap::new());
        for network in arriving {
            feed.take(&mut networks, &mut Before::new(), Event::Apply(network));
        }
        let other = Inputs { networks, ..cluster.inputs.clone() };
        prop_assert_eq!(cluster.compiled(), compile(&other));
    }
}
