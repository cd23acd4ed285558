//! The policies of networks and the pods that their selectors select, as the API server or a copy
//! on disk has them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::policy::Policy;
use usnet_crds::policy::pods::{KnownPod, KnownPods};
use usnet_crds::{CompiledPolicySpec, NetworkName, UserspacePodSliceSpec};

/// All policies as the API server has them; none while they were not read.
pub type CompiledPolicies = Option<Arc<Vec<CompiledPolicySpec>>>;

/// The pods of some networks, as the API server has them; none while they were not read.
pub type PodSlices = Option<Arc<SlicesOfNetworks>>;

/// All slices of some networks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SlicesOfNetworks {
    pub networks: BTreeSet<NetworkName>,
    pub slices: Vec<UserspacePodSliceSpec>,
}

/// What is known of a network with policies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct NetworkKnowledge {
    pub(crate) policies: Arc<[Policy]>,
    pub(crate) pods: Arc<KnownPods>,
}

/// What is known of each network that has policies or pods.
pub(crate) type PoliciesByNetwork = BTreeMap<NetworkName, NetworkKnowledge>;

/// All policies; none while they are not known, which is not the same as no policies.
pub(crate) type KnownPolicies = Option<Arc<PoliciesByNetwork>>;

/// The policies of each network that any of these objects names.
pub(crate) fn policies_by_network<'a>(
    objects: impl IntoIterator<Item = &'a CompiledPolicySpec>,
) -> BTreeMap<NetworkName, Arc<[Policy]>> {
    let mut policies: BTreeMap<NetworkName, Vec<Policy>> = BTreeMap::new();
    for object in objects {
        for network in &object.networks {
            policies.entry(network.clone()).or_default().push(object.policy());
        }
    }
    policies.into_iter().map(|(network, policies)| (network, policies.into())).collect()
}

/// The pods of these slices. Classes that are as they were before are shared, so that what compares
/// pods with those of before finds equal ones at once.
pub(crate) fn pods_of<'a>(
    slices: impl IntoIterator<Item = &'a UserspacePodSliceSpec>,
    before: &KnownPods,
) -> KnownPods {
    let mut pods = KnownPods::new();
    for slice in slices {
        for (class, of_class) in slice.classified() {
            let known = of_class.keys().filter_map(|uid| before.get(uid)).find(|known| *known.class == class);
            let class = known.map_or_else(|| Arc::new(class), |known| Arc::clone(&known.class));
            let known = |addresses: &BTreeSet<_>| KnownPod { class: Arc::clone(&class), addresses: addresses.clone() };
            pods.extend(of_class.iter().map(|(uid, addresses)| (uid.clone(), known(addresses))));
        }
    }
    pods
}

/// What is known of each network that has policies or pods.
pub(crate) fn joined(
    policies: &BTreeMap<NetworkName, Arc<[Policy]>>,
    pods: &BTreeMap<NetworkName, Arc<KnownPods>>,
) -> PoliciesByNetwork {
    let names: BTreeSet<&NetworkName> = policies.keys().chain(pods.keys()).collect();
    let known = |name: &NetworkName| {
        let policies = policies.get(name).cloned().unwrap_or_else(|| [].into());
        (name.clone(), NetworkKnowledge { policies, pods: pods.get(name).cloned().unwrap_or_default() })
    };
    names.into_iter().map(known).collect()
}
