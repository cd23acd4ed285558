//! The policies of networks and the pods that their selectors select, as the API server or a copy
//! on disk has them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::policy::Policy;
use usnet_crds::policy::pods::{KnownPod, KnownPods, PodClass};
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

/// The policies and the pods of each network that any of these objects names.
pub(crate) fn by_network<'a>(
    objects: impl IntoIterator<Item = &'a CompiledPolicySpec>,
    slices: impl IntoIterator<Item = &'a UserspacePodSliceSpec>,
) -> PoliciesByNetwork {
    let mut policies: BTreeMap<NetworkName, Vec<Policy>> = BTreeMap::new();
    for object in objects {
        for network in &object.networks {
            policies.entry(network.clone()).or_default().push(object.policy());
        }
    }
    let mut pods: BTreeMap<NetworkName, KnownPods> = BTreeMap::new();
    for slice in slices {
        let classes: Vec<Arc<PodClass>> = slice.classes.iter().map(|class| Arc::new(class.class())).collect();
        let of_network = pods.entry(slice.network.clone()).or_default();
        for pod in &slice.pods {
            let Some(class) = classes.get(pod.class).cloned() else { continue };
            of_network.insert(pod.uid.clone(), KnownPod { class, addresses: pod.addresses.clone() });
        }
    }
    let names: BTreeSet<NetworkName> = policies.keys().chain(pods.keys()).cloned().collect();
    let known = |name: NetworkName| {
        let policies = policies.remove(&name).unwrap_or_default().into();
        let pods = Arc::new(pods.remove(&name).unwrap_or_default());
        (name, NetworkKnowledge { policies, pods })
    };
    names.into_iter().map(known).collect()
}
