//! Which slice a pod is in: the one that it was in, or one with pods of its namespace.

use crate::pods::NetworkPods;
use crate::slices::{Slices, pack};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;
use usnet_crds::pod_slice::SLICE_PODS_MAX;
use usnet_crds::policy::pods::{KnownPod, PodClass, SelectorId};
use usnet_test_fuzz::Random;

/// Pods by namespace and number; every second one of a namespace is of another class.
fn pods<'a>(all: impl IntoIterator<Item = (&'a str, u32)>) -> NetworkPods {
    let known = |(namespace, number): (&str, u32)| {
        let class = PodClass::of_namespace(namespace.parse().unwrap());
        let class = PodClass { selected_by: [SelectorId::new(u128::from(number % 2))].into(), ..class };
        let namespace_number = u32::from(namespace.as_bytes()[0]);
        let address = Ipv4Addr::from(0x0a00_0000 | namespace_number << 16 | number).into();
        let pod = KnownPod { class: Arc::new(class), addresses: [address].into() };
        (format!("{namespace}-{number:03}"), pod)
    };
    NetworkPods { pods: all.into_iter().map(known).collect(), holders: BTreeMap::new() }
}

fn packed(stored: &Slices, pods: &NetworkPods) -> Slices {
    pack(&"blue".parse().unwrap(), stored, pods)
}

/// The pods of each slice, by the name of the slice.
fn uids(slices: &Slices) -> BTreeMap<&str, BTreeSet<String>> {
    slices.iter().map(|(name, slice)| (name.as_str(), slice.pods().into_keys().collect())).collect()
}

fn namespaces(slices: &Slices) -> Vec<String> {
    let of = |uids: BTreeSet<String>| uids.iter().map(|uid| uid[..1].to_owned()).collect::<BTreeSet<_>>();
    uids(slices).into_iter().map(|(name, uids)| format!("{name} {:?}", of(uids))).collect()
}

/// Twenty pods of each of three namespaces.
fn sixty() -> Vec<(&'static str, u32)> {
    ["a", "b", "c"].into_iter().flat_map(|namespace| (0..20).map(move |number| (namespace, number))).collect()
}

#[test]
fn new_slices_have_the_pods_of_one_namespace_after_the_other() {
    let slices = packed(&Slices::new(), &pods(sixty()));
    assert_eq!(
        namespaces(&slices),
        [r#"blue.0 {"a"}"#, r#"blue.1 {"a", "b"}"#, r#"blue.2 {"b", "c"}"#, r#"blue.3 {"c"}"#]
    );
    // Within a namespace those of one class are together.
    assert_eq!(slices["blue.0"].classes.iter().map(|class| class.pods.len()).collect::<Vec<_>>(), [10, 6]);
}

#[test]
fn a_new_pod_goes_to_a_slice_with_room_that_has_pods_of_its_namespace() {
    let first = packed(&Slices::new(), &pods(sixty()));
    let without_one = |new: &'static str| {
        let left = sixty().into_iter().filter(|pod| *pod != ("a", 0));
        packed(&first, &pods(left.chain([(new, 99)])))
    };
    let place = |slices: &Slices, uid: &str| {
        uids(slices).into_iter().find(|(_, uids)| uids.contains(uid)).map(|(name, _)| name.to_owned()).unwrap()
    };
    assert_eq!(place(&without_one("a"), "a-099"), "blue.0");
    assert_eq!(place(&without_one("c"), "c-099"), "blue.3", "an earlier one has room as well");
    assert_eq!(place(&without_one("b"), "b-099"), "blue.0", "those with its namespace are full");
    assert_eq!(place(&without_one("d"), "d-099"), "blue.0");
}

/// Random pods of some namespaces that come and go.
#[test]
fn pods_stay_in_their_slices_and_new_ones_fill_these() {
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let (mut slices, mut all) = (Slices::new(), BTreeSet::new());
        for _ in 0..20 {
            for _ in 0..random.below(60) {
                let pod = (["a", "b", "c", "d"][random.below(4)], u32::try_from(random.below(40)).unwrap());
                if !all.remove(&pod) || random.below(3) == 0 {
                    all.insert(pod);
                }
            }
            let desired = pods(all.iter().copied());
            let after = packed(&slices, &desired);
            check(&slices, &after, &desired, seed);
            assert_eq!(packed(&after, &desired), after, "{seed}");
            slices = after;
        }
    }
}

fn check(before: &Slices, after: &Slices, desired: &NetworkPods, seed: u64) {
    let (before, after) = (uids(before), uids(after));
    let all: Vec<&String> = after.values().flatten().collect();
    assert_eq!(all.len(), desired.pods.len(), "{seed}: a pod is in none or in several");
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), desired.pods.keys().collect(), "{seed}");
    assert!(after.values().all(|uids| (1..=SLICE_PODS_MAX).contains(&uids.len())), "{seed}");
    let kept = |name: &str| {
        let uids = before.get(name).into_iter().flatten().filter(|uid| desired.pods.contains_key(*uid));
        uids.collect::<BTreeSet<_>>()
    };
    let has = |name: &str, uid: &str| kept(name).iter().any(|other| other[..1] == uid[..1]);
    let has_room = |name: &str| after.get(name).is_none_or(|uids| uids.len() < SLICE_PODS_MAX);
    for (name, members) in &after {
        assert!(kept(name).into_iter().all(|uid| members.contains(uid)), "{seed}: a pod has left {name}");
        for uid in members.iter().filter(|uid| !kept(name).contains(uid) && !has(name, uid)) {
            assert!(!before.keys().any(|other| has(other, uid) && has_room(other)), "{seed}: {uid} in {name}");
        }
        let is_new = !before.contains_key(name);
        let is_last =
            after.keys().filter(|other| !before.contains_key(*other)).all(|other| number(other) <= number(name));
        let others_have_room = before.keys().chain(after.keys()).any(|other| other != name && has_room(other));
        assert!(!(is_new && is_last && others_have_room), "{seed}: {name} is new");
    }
}

fn number(name: &str) -> usize {
    name.trim_start_matches("blue.").parse().unwrap()
}
