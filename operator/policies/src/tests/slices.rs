//! Pods stay in their slices, and an address is one pod's at a time.

use crate::pods::NetworkPods;
use crate::slices::{Slices, pack};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::pod_slice::{SLICE_PODS_MAX, UserspacePodSliceSpec};
use usnet_crds::policy::pods::{KnownPod, PodClass, SelectorId};
use usnet_test_fuzz::Random;

/// Pods by uid, with the selector that selects them and their address.
fn pods(all: &[(&str, u128, &str)]) -> NetworkPods {
    let mut pods = NetworkPods::default();
    for (uid, selector, address) in all {
        let class = PodClass {
            selected_by: [SelectorId::new(*selector)].into(),
            ..PodClass::of_namespace("db".parse().unwrap())
        };
        let address = address.parse().unwrap();
        pods.holders.entry(address).or_default().insert((*uid).to_owned());
        pods.pods.insert((*uid).to_owned(), KnownPod { class: Arc::new(class), addresses: [address].into() });
    }
    pods
}

fn packed(stored: &Slices, pods: &NetworkPods) -> Slices {
    pack(&"blue".parse().unwrap(), stored, pods)
}

/// The pods with their addresses, of all slices.
fn known(slices: &Slices) -> Vec<String> {
    let all = slices.values().flat_map(UserspacePodSliceSpec::pods);
    all.map(|(uid, pod)| format!("{uid} {:?}", pod.addresses)).collect()
}

#[test]
fn a_new_pod_gets_the_address_of_a_former_one_after_no_node_has_it_any_more() {
    let first = packed(&Slices::new(), &pods(&[("a", 1, "10.0.0.1"), ("b", 1, "10.0.0.2")]));
    assert_eq!(known(&first), ["a {10.0.0.1}", "b {10.0.0.2}"]);
    let desired = pods(&[("b", 1, "10.0.0.2"), ("c", 2, "10.0.0.1")]);
    let second = packed(&first, &desired);
    assert_eq!(known(&second), ["b {10.0.0.2}"], "the former pod goes, and the new one waits");
    let third = packed(&second, &desired);
    assert_eq!(known(&third), ["b {10.0.0.2}", "c {10.0.0.1}"]);
    assert_eq!(packed(&third, &desired), third);
    let same_class = pods(&[("b", 1, "10.0.0.2"), ("d", 1, "10.0.0.1")]);
    assert_eq!(known(&packed(&first, &same_class)), ["b {10.0.0.2}", "d {10.0.0.1}"], "there is nothing to inherit");
}

#[test]
fn an_address_of_several_pods_is_none_s() {
    let first = packed(&Slices::new(), &pods(&[("a", 1, "10.0.0.1")]));
    let mut both = pods(&[("a", 1, "10.0.0.1"), ("b", 1, "10.0.0.1")]);
    let second = packed(&first, &both);
    assert_eq!(known(&second), ["a {}"], "what nodes know of the first stays, and the second waits");
    // Also one that no selector concerns.
    both.pods.remove("b");
    assert_eq!(known(&packed(&first, &both)), ["a {}"]);
    assert_eq!(known(&packed(&second, &pods(&[("a", 1, "10.0.0.1")]))), ["a {10.0.0.1}"]);
}

#[test]
fn a_change_of_one_pod_changes_one_slice() {
    let name = |number: usize| format!("pod-{number:03}");
    let address = |number: usize| format!("10.0.{}.{}", number / 200, number % 200);
    let many = |selector: u128, without: usize| {
        let all: Vec<(String, u128, String)> = (0..3 * SLICE_PODS_MAX)
            .filter(|number| *number != without)
            .map(|number| (name(number), if number == 7 { selector } else { 1 }, address(number)))
            .collect();
        pods(
            &all.iter().map(|(uid, selector, address)| (uid.as_str(), *selector, address.as_str())).collect::<Vec<_>>(),
        )
    };
    let first = packed(&Slices::new(), &many(1, usize::MAX));
    assert_eq!(first.keys().collect::<Vec<_>>(), ["blue.0", "blue.1", "blue.2"]);
    let changed = |before: &Slices, after: &Slices| {
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        names.into_iter().filter(|name| before.get(*name) != after.get(*name)).count()
    };
    let relabelled = packed(&first, &many(2, usize::MAX));
    assert_eq!(changed(&first, &relabelled), 1);
    let without = packed(&relabelled, &many(2, 20));
    assert_eq!(changed(&relabelled, &without), 1);
    assert_eq!(changed(&without, &packed(&without, &many(2, usize::MAX))), 1, "it goes where there is room");
    assert!(first.values().all(|slice| slice.classes.len() == 1 && slice.pods_count() == SLICE_PODS_MAX));
}

/// Random pods that come, go, change their labels and take addresses of others: each step leaves
/// each address with one pod, which has it, and in the end all pods are known that have their
/// addresses alone.
#[test]
fn slices_of_random_pods_say_what_is_true_and_become_complete() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut slices = Slices::new();
        let mut desired = NetworkPods::default();
        for _ in 0..20 {
            let all: Vec<(String, u128, String)> = (0..random.below(12))
                .map(|_| {
                    (
                        format!("uid-{}", random.below(16)),
                        random.below(3) as u128,
                        format!("10.0.0.{}", random.below(8)),
                    )
                })
                .collect();
            let all: BTreeMap<&str, (u128, &str)> =
                all.iter().map(|(uid, selector, address)| (uid.as_str(), (*selector, address.as_str()))).collect();
            desired =
                pods(&all.into_iter().map(|(uid, (selector, address))| (uid, selector, address)).collect::<Vec<_>>());
            let before = slices.clone();
            slices = packed(&before, &desired);
            check(&before, &slices, &desired, seed);
        }
        slices = packed(&packed(&slices, &desired), &desired);
        let is_alone = |pod: &KnownPod| pod.addresses.iter().all(|address| desired.holders[address].len() == 1);
        let expected: BTreeSet<&String> =
            desired.pods.iter().filter(|(_, pod)| is_alone(pod)).map(|(uid, _)| uid).collect();
        let all: Vec<(String, KnownPod)> = slices.values().flat_map(UserspacePodSliceSpec::pods).collect();
        let complete = all.iter().filter(|(_, pod)| !pod.addresses.is_empty());
        assert_eq!(complete.map(|(uid, _)| uid).collect::<BTreeSet<_>>(), expected, "{seed}");
        assert_eq!(packed(&slices, &desired), slices, "{seed}");
    }
}

fn check(before: &Slices, after: &Slices, desired: &NetworkPods, seed: u64) {
    let mut addresses = BTreeSet::new();
    for (uid, pod) in after.values().flat_map(UserspacePodSliceSpec::pods) {
        let known = &desired.pods[&uid];
        assert_eq!(pod.class, known.class, "{seed}");
        assert!(pod.addresses.is_subset(&known.addresses), "{seed}");
        for address in &pod.addresses {
            assert!(addresses.insert(*address), "{seed}: {address} is two pods'");
            // A node may have a part of the writes: none of it has the address with another
            // class.
            let former = before.values().flat_map(UserspacePodSliceSpec::pods);
            let mut former = former.filter(|(other, former)| *other != uid && former.addresses.contains(address));
            assert!(former.all(|(_, other)| other.class == pod.class), "{seed}: {address} is inherited");
        }
    }
}
