//! The slices of a network: the pods that nodes know. Pure.
//!
//! A pod stays in its slice, so that a change of one pod changes one slice. An address is that of
//! one pod at a time: a new pod with the address of a former one waits until no slice has the
//! former one any more. Nodes get slices in the order in which they are written, and a pod that is
//! in none is closed: so none of them takes a pod for the former one of its address. An address
//! that several pods have at once is that of none.

use crate::pods::NetworkPods;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use usnet_crds::NetworkName;
use usnet_crds::pod_slice::{SLICE_PODS_MAX, SliceClass, SlicePod, UserspacePodSliceSpec, slice_name};
use usnet_crds::policy::pods::KnownPod;

/// The slices of a network, by the names of the objects.
pub(crate) type Slices = BTreeMap<String, UserspacePodSliceSpec>;

/// The slices of a network with these pods, given those that are stored.
pub(crate) fn pack(network: &NetworkName, stored: &Slices, pods: &NetworkPods) -> Slices {
    let admitted = admitted(stored, pods);
    let mut members: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut placed = BTreeSet::new();
    for (name, slice) in stored {
        let kept = slice.pods.iter().map(|pod| pod.uid.as_str()).filter(|uid| admitted.contains_key(uid));
        let kept: BTreeSet<&str> = kept.filter(|uid| placed.insert(*uid)).take(SLICE_PODS_MAX).collect();
        members.insert(name.clone(), kept);
    }
    let placed: BTreeSet<&str> = members.values().flatten().copied().collect();
    let mut new = admitted.keys().copied().filter(|uid| !placed.contains(uid)).peekable();
    let room = |of_slice: &BTreeSet<&str>| SLICE_PODS_MAX.saturating_sub(of_slice.len());
    for of_slice in members.values_mut() {
        let room = room(of_slice);
        of_slice.extend(new.by_ref().take(room));
    }
    let mut names = (0..).map(|number| slice_name(network.as_str(), number));
    while new.peek().is_some() {
        let Some(name) = names.find(|name| !members.contains_key(name)) else { break };
        members.insert(name, new.by_ref().take(SLICE_PODS_MAX).collect());
    }
    let filled = members.into_iter().filter(|(_, uids)| !uids.is_empty());
    filled.map(|(name, uids)| (name, slice(network, &uids, &admitted))).collect()
}

/// The pods that nodes may know, with the addresses that are theirs.
fn admitted<'a>(stored: &Slices, network: &'a NetworkPods) -> BTreeMap<&'a str, KnownPod> {
    let mut former: BTreeMap<IpAddr, (&str, &SliceClass)> = BTreeMap::new();
    let mut known = BTreeSet::new();
    for (pod, class) in stored.values().flat_map(UserspacePodSliceSpec::classified) {
        known.insert(pod.uid.as_str());
        former.extend(pod.addresses.iter().map(|address| (*address, (pod.uid.as_str(), class))));
    }
    let mut admitted = BTreeMap::new();
    for (uid, pod) in &network.pods {
        let is_own = |address: &&IpAddr| {
            let is_only = network.holders.get(*address).is_none_or(|holders| holders.len() == 1);
            // Nodes may still take the address for that of the former pod, which is no harm if
            // both are of one class.
            let is_free = |(holder, class): &(&str, &SliceClass)| *holder == uid || class.class() == *pod.class;
            is_only && former.get(*address).is_none_or(is_free)
        };
        let addresses: BTreeSet<IpAddr> = pod.addresses.iter().filter(is_own).copied().collect();
        // A pod that nodes do not know yet waits for all of its addresses.
        if addresses.len() == pod.addresses.len() || known.contains(uid.as_str()) {
            admitted.insert(uid.as_str(), KnownPod { addresses, class: pod.class.clone() });
        }
    }
    admitted
}

fn slice(network: &NetworkName, uids: &BTreeSet<&str>, admitted: &BTreeMap<&str, KnownPod>) -> UserspacePodSliceSpec {
    let members = || uids.iter().filter_map(|uid| Some((*uid, admitted.get(uid)?)));
    let classes: BTreeSet<_> = members().map(|(_, pod)| &pod.class).collect();
    let numbers: BTreeMap<_, usize> = classes.iter().copied().zip(0..).collect();
    let pod = |(uid, pod): (&str, &KnownPod)| {
        let (class, addresses) = (numbers.get(&pod.class).copied()?, pod.addresses.clone());
        Some(SlicePod { uid: uid.to_owned(), class, addresses })
    };
    UserspacePodSliceSpec {
        network: network.clone(),
        pods: members().filter_map(pod).collect(),
        classes: classes.into_iter().map(|class| SliceClass::from(class.as_ref().clone())).collect(),
    }
}
