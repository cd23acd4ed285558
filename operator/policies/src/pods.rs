//! The pods of networks with policies: which selectors select them, and their addresses. Pure.
//!
//! Addresses are those that the agent of the pod's node has reported. An agent's token may be
//! stolen: a report counts for pods that the API server has on that node, and for networks that are
//! on it.

use crate::observed::{Observed, ObservedNetwork, ObservedNode, ObservedPod};
use crate::selectors::UsedSelectors;
use kube::core::SelectorExt as _;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::NetworkName;
use usnet_crds::multi_network_policy::selector::PodSelector;
use usnet_crds::pod_slice::CLASS_SELECTORS_MAX;
use usnet_crds::policy::pods::{KnownPod, KnownPods, PodClass, SelectorId};

/// The pods of one network.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct NetworkPods {
    /// Those that selectors concern.
    pub(crate) pods: KnownPods,
    /// The uids of the pods with each address, also of those that no selector concerns.
    pub(crate) holders: BTreeMap<IpAddr, BTreeSet<String>>,
}

/// The pods of each network whose policies use selectors.
pub(crate) fn classify(
    observed: &Observed,
    used: &BTreeMap<NetworkName, UsedSelectors>,
    selectors: &BTreeMap<SelectorId, PodSelector>,
) -> BTreeMap<NetworkName, NetworkPods> {
    let mut classes = Classes { observed, selectors, known: BTreeMap::new() };
    let by_name: BTreeMap<&str, _> = used.iter().map(|(network, used)| (network.as_str(), (network, used))).collect();
    let mut networks: BTreeMap<NetworkName, NetworkPods> = BTreeMap::new();
    for (name, node) in &observed.nodes.objects {
        for reported in &node.pods {
            let Some((network, used)) = by_name.get(reported.network.as_str()).copied() else { continue };
            let Some(pod) = observed.pods.objects.get(&reported.uid) else { continue };
            let is_there = observed.networks.objects.get(network.as_str()).is_some_and(|it| is_on(it, node));
            if !is_there || *pod.node != *name {
                continue;
            }
            let of_network = networks.entry(network.clone()).or_default();
            for address in &reported.addresses {
                of_network.holders.entry(*address).or_default().insert(reported.uid.clone());
            }
            let Some(class) = classes.of(network, used, pod) else { continue };
            let known = of_network.pods.entry(reported.uid.clone());
            let known = known.or_insert_with(|| KnownPod { class, addresses: BTreeSet::new() });
            known.addresses.extend(&reported.addresses);
        }
    }
    networks
}

fn is_on(network: &ObservedNetwork, node: &ObservedNode) -> bool {
    network.has_policies && network.nodes.as_ref().is_some_and(|nodes| nodes.matches(&node.labels))
}

/// The classes of pods with the same labels in one namespace are the same.
struct Classes<'a> {
    observed: &'a Observed,
    selectors: &'a BTreeMap<SelectorId, PodSelector>,
    known: BTreeMap<Key<'a>, Option<Arc<PodClass>>>,
}

/// A network, a namespace, and where the labels are: equal ones are kept once.
type Key<'a> = (&'a NetworkName, &'a str, *const BTreeMap<String, String>);

impl<'a> Classes<'a> {
    /// None if no selector concerns the pod, or if it is not known whether one does.
    fn of(&mut self, network: &'a NetworkName, used: &UsedSelectors, pod: &'a ObservedPod) -> Option<Arc<PodClass>> {
        let key = (network, pod.namespace.as_str(), Arc::as_ptr(&pod.labels));
        if let Some(class) = self.known.get(&key) {
            return class.clone();
        }
        let class = self.computed(used, pod).map(Arc::new);
        self.known.insert(key, class.clone());
        class
    }

    fn computed(&self, used: &UsedSelectors, pod: &ObservedPod) -> Option<PodClass> {
        let namespace_labels = self.observed.namespaces.objects.get(pod.namespace.as_str())?;
        // A selector that is not known any more is that of a policy that is being deleted.
        let selects = |id: &SelectorId| {
            let selector = self.selectors.get(id)?;
            Some(selector.selects(&pod.labels, &pod.namespace, namespace_labels))
        };
        let mut class = PodClass::of_namespace(pod.namespace.parse().ok()?);
        for id in used.subjects.get(&class.namespace).into_iter().flatten() {
            match selects(id) {
                Some(true) => drop(class.selected_by.insert(*id)),
                Some(false) => drop(class.not_selected_by.insert(*id)),
                None => {}
            }
        }
        class.selected_by.extend(used.peers.iter().filter(|id| selects(id) == Some(true)));
        let count = class.selected_by.len() + class.not_selected_by.len();
        if count > CLASS_SELECTORS_MAX {
            tracing::warn!(
                namespace = *pod.namespace,
                count,
                "policies have more than {CLASS_SELECTORS_MAX} selectors that concern pods of a namespace on one network: these pods are closed; write fewer policies"
            );
        }
        (1..=CLASS_SELECTORS_MAX).contains(&count).then_some(class)
    }
}
