//! The slices of a network: the pods that nodes know. Pure.
//!
//! A pod stays in its slice, so that a change of one pod changes one slice. New pods go to slices
//! that have pods of their namespace, so that a slice names few namespaces and selectors.
//!
//! An address is that of one pod at a time: a new pod with the address of a former one waits until
//! no slice has the former one any more. Nodes get slices in the order in which they are written,
//! and a pod that is in none is closed: so none of them takes a pod for the former one of its
//! address. An address that several pods have at once is that of none.

use crate::pods::NetworkPods;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::pod_slice::{SLICE_PODS_MAX, UserspacePodSliceSpec, slice_name};
use usnet_crds::policy::pods::{KnownPod, PodClass};
use usnet_crds::{NamespaceName, NetworkName};

/// The slices of a network, by the names of the objects.
pub(crate) type Slices = BTreeMap<String, UserspacePodSliceSpec>;

/// The slices of a network with these pods, given those that are stored. There is no new one while
/// another one has room.
pub(crate) fn pack(network: &NetworkName, stored: &Slices, pods: &NetworkPods) -> Slices {
    let admitted = admitted(stored, pods);
    let mut slices = kept(stored, &admitted);
    let placed: BTreeSet<&str> = slices.values().flat_map(|members| &members.uids).copied().collect();
    let new = admitted.iter().filter(|(uid, _)| !placed.contains(*uid));
    let others = with_their_namespaces(&mut slices, new.map(|(uid, pod)| (&*pod.class, *uid)).collect());
    let mut others = others.into_iter().peekable();
    for members in slices.values_mut() {
        members.fill(&mut others);
    }
    let mut names = (0..).map(|number| slice_name(network.as_str(), number));
    while others.peek().is_some() {
        let Some(name) = names.find(|name| !slices.contains_key(name)) else { break };
        slices.entry(name).or_default().fill(&mut others);
    }
    let filled = slices.into_iter().filter(|(_, members)| !members.uids.is_empty());
    let spec = |members: &Members<'_>| {
        let pods = members.uids.iter().filter_map(|uid| Some((*uid, admitted.get(uid)?)));
        UserspacePodSliceSpec::of(network.clone(), pods)
    };
    filled.map(|(name, members)| (name, spec(&members))).collect()
}

/// The pods that a slice is to have, with their namespaces.
#[derive(Default)]
struct Members<'a> {
    uids: BTreeSet<&'a str>,
    namespaces: BTreeSet<&'a NamespaceName>,
}

impl<'a> Members<'a> {
    /// Takes as many as there is room for.
    fn fill(&mut self, new: &mut impl Iterator<Item = (&'a PodClass, &'a str)>) {
        for (class, uid) in new.take(SLICE_PODS_MAX.saturating_sub(self.uids.len())) {
            self.uids.insert(uid);
            self.namespaces.insert(&class.namespace);
        }
    }
}

/// The stored slices with the pods that stay.
fn kept<'a>(stored: &'a Slices, admitted: &'a BTreeMap<&str, KnownPod>) -> BTreeMap<String, Members<'a>> {
    let mut placed = BTreeSet::new();
    let mut slices = BTreeMap::new();
    for (name, slice) in stored {
        let uids = slice.classified().flat_map(|(_, pods)| pods.keys()).map(String::as_str);
        let pods = uids.filter_map(|uid| Some((&*admitted.get(uid)?.class, uid)));
        let mut members = Members::default();
        members.fill(&mut pods.filter(|(_, uid)| placed.insert(*uid)));
        slices.insert(name.clone(), members);
    }
    slices
}

/// Puts new pods into slices with room that have pods of their namespace. Returns the others,
/// sorted: with its namespace and its class, a pod adds the least to a slice.
fn with_their_namespaces<'a>(
    slices: &mut BTreeMap<String, Members<'a>>,
    mut new: Vec<(&'a PodClass, &'a str)>,
) -> Vec<(&'a PodClass, &'a str)> {
    new.sort_unstable();
    let mut others = Vec::new();
    for of_namespace in new.chunk_by(|(one, _), (other, _)| one.namespace == other.namespace) {
        let mut left = of_namespace.iter().copied();
        for members in slices.values_mut() {
            if of_namespace.first().is_some_and(|(class, _)| members.namespaces.contains(&class.namespace)) {
                members.fill(&mut left);
            }
        }
        others.extend(left);
    }
    others
}

/// The pods that nodes may know, with the addresses that are theirs.
fn admitted<'a>(stored: &'a Slices, network: &'a NetworkPods) -> BTreeMap<&'a str, KnownPod> {
    let mut former: BTreeMap<IpAddr, (&str, Arc<PodClass>)> = BTreeMap::new();
    let mut known = BTreeSet::new();
    for (class, pods) in stored.values().flat_map(UserspacePodSliceSpec::classified) {
        let class = Arc::new(class);
        for (uid, addresses) in pods {
            known.insert(uid.as_str());
            former.extend(addresses.iter().map(|address| (*address, (uid.as_str(), Arc::clone(&class)))));
        }
    }
    let mut admitted = BTreeMap::new();
    for (uid, pod) in &network.pods {
        let is_own = |address: &&IpAddr| {
            let is_only = network.holders.get(*address).is_none_or(|holders| holders.len() == 1);
            // Nodes may still take the address for that of the former pod, which is no harm if
            // both are of one class.
            let is_free = |(holder, class): &(&str, Arc<PodClass>)| *holder == uid || *class == pod.class;
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
