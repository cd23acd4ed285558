//! Properties of every selection.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// A few networks that compete for fewer bridges.
fn compiled_networks() -> impl Strategy<Value = Vec<Compiled>> {
    let one = (0..NAMES.len(), 0..4, 0..5_i64, prop::bool::weighted(0.2), prop::bool::weighted(0.8), 1..99_u64);
    vec(one, 0..8).prop_map(|all| {
        let mut networks: BTreeMap<&str, Compiled> = BTreeMap::new();
        for (name, bridge, created, drains, selects, version) in all {
            let network = on_bridge(&format!("br{bridge}"), created, compiled(version, NAMES[name]));
            let network = with_phase(if drains { Phase::Draining } else { Phase::Active }, network);
            let rack = if selects { "a" } else { "b" };
            let selector = kube::core::Selector::from(kube::core::Expression::Equal("rack".into(), rack.into()));
            networks.insert(NAMES[name], Compiled { selector: Some(selector), ..network });
        }
        networks.into_values().collect()
    })
}

fn input(networks: &[Compiled]) -> Input {
    Input { labels: [("rack".to_owned(), "a".to_owned())].into(), ..input_of(networks) }
}

fn names() -> impl Strategy<Value = BTreeSet<NetworkName>> {
    prop::sample::subsequence(NAMES.to_vec(), 0..=NAMES.len()).prop_map(|all| all.into_iter().map(name).collect())
}

#[derive(Debug, Clone)]
struct Step {
    networks: Vec<Compiled>,
    in_use: BTreeSet<NetworkName>,
    lost: BTreeSet<NetworkName>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (compiled_networks(), names(), names());
    vec(step.prop_map(|(networks, in_use, lost)| Step { networks, in_use, lost }), 1..6)
}

impl Step {
    fn take(&self, previous: &NodeSpec) -> NodeSpec {
        let input = input(&self.networks);
        // A network is lost only while there is no compiled one.
        let lost = self.lost.iter().filter(|name| !input.networks.contains_key(*name)).cloned().collect();
        let (input, per_node) = (&input, &PerNodeNetworks::of(&input));
        select(Facts { input, missing: &BTreeSet::new(), previous, in_use: &self.in_use, lost: &lost, per_node })
    }
}

proptest! {
    #[test]
    fn no_two_networks_share_a_bridge_and_all_are_sorted(steps in steps()) {
        let mut spec = NodeSpec::default();
        for step in steps {
            spec = step.take(&spec);
            let bridges: BTreeSet<_> = spec.networks.iter().map(|network| &network.bridge.name).collect();
            prop_assert_eq!(bridges.len(), spec.networks.len(), "{:?}", summary_of(&spec));
            prop_assert!(spec.networks.is_sorted_by(|one, other| one.name < other.name));
            prop_assert!(spec.refused.is_sorted_by(|one, other| one.name < other.name));
        }
    }

    #[test]
    fn a_network_in_use_never_leaves(steps in steps()) {
        let mut spec = NodeSpec::default();
        for step in steps {
            let next = step.take(&spec);
            for network in spec.networks.iter().filter(|network| step.in_use.contains(&network.name)) {
                prop_assert!(next.network(&network.name).is_some(), "{} left: {:?}", network.name, summary_of(&next));
            }
            spec = next;
        }
    }

    #[test]
    fn selecting_again_changes_nothing(steps in steps()) {
        let mut spec = NodeSpec::default();
        for step in steps {
            spec = step.take(&spec);
            prop_assert_eq!(&step.take(&spec), &spec);
        }
    }

    /// Each network that selects the node is present, or is refused because another one has its
    /// bridge.
    #[test]
    fn every_selected_network_is_present_or_refused(steps in steps()) {
        let mut spec = NodeSpec::default();
        for step in steps {
            spec = step.take(&spec);
            let input = input(&step.networks);
            for compiled in step.networks.iter().filter(|it| it.network.phase == Phase::Active) {
                let name = &compiled.network.name;
                if !input.selects(compiled, &BTreeSet::new()) {
                    continue;
                }
                let is_there = spec.network(name) == Some(&compiled.network);
                let is_refused = spec.refused.iter().any(|refused| refused.name == *name);
                prop_assert!(is_there != is_refused, "{name}: {:?}", summary_of(&spec));
                let owner = spec.networks.iter().find(|it| it.bridge.name == compiled.network.bridge.name);
                prop_assert!(owner.is_some(), "the bridge of {name} is free");
            }
        }
    }

    /// On an empty node only the ages of objects matter, and not the order in which they are listed
    /// or named.
    #[test]
    fn of_those_that_request_one_bridge_the_oldest_gets_it(networks in compiled_networks()) {
        let spec = Step { networks: networks.clone(), in_use: BTreeSet::new(), lost: BTreeSet::new() }.take(&NodeSpec::default());
        let mut reversed = networks;
        reversed.reverse();
        let again = Step { networks: reversed.clone(), in_use: BTreeSet::new(), lost: BTreeSet::new() }.take(&NodeSpec::default());
        prop_assert_eq!(&spec, &again);
        let age = |name: &NetworkName| {
            reversed.iter().find(|it| it.network.name == *name).map(|it| (it.created.clone(), name.clone()))
        };
        for refused in &spec.refused {
            let compiled = reversed.iter().find(|it| it.network.name == refused.name).unwrap();
            let owner = spec.networks.iter().find(|it| it.bridge.name == compiled.network.bridge.name).unwrap();
            prop_assert!(age(&owner.name) < age(&refused.name));
        }
    }
}
