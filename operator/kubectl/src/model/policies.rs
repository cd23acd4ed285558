//! The policies of a network and the pods that they select, as nodes get them. Pure.

use super::{Pod, Snapshot};
use usnet_crds::UserspacePodSliceSpec;
use usnet_crds::policy::Policy;
use usnet_crds::policy::pods::{KnownPods, PodAddresses, PodClass};

/// What nodes get of the policies of a network.
#[derive(Debug, Clone, Default)]
pub(crate) struct NetworkPolicies {
    pub policies: Vec<Policy>,
    /// The pods that selectors concern, by uid.
    pods: KnownPods,
    pub addresses: PodAddresses,
}

impl NetworkPolicies {
    pub(crate) fn of(snapshot: &Snapshot, network: &str) -> Self {
        let is_for = |policy: &&usnet_crds::CompiledPolicySpec| policy.networks.iter().any(|it| it.as_str() == network);
        let policies = snapshot.policies.iter().filter(is_for).map(usnet_crds::CompiledPolicySpec::policy).collect();
        let slices = snapshot.pod_slices.iter().filter(|slice| slice.network.as_str() == network);
        let pods: KnownPods = slices.flat_map(UserspacePodSliceSpec::pods).collect();
        let addresses = PodAddresses::of(pods.values());
        Self { policies, pods, addresses }
    }

    /// What is known of a pod; `None` if its namespace cannot be one.
    pub(crate) fn class(&self, pod: &Pod) -> Option<PodClass> {
        let known = self.pods.get(&pod.uid).filter(|known| known.class.namespace.as_str() == pod.namespace);
        match known {
            Some(known) => Some(known.class.as_ref().clone()),
            None => pod.namespace.parse().ok().map(PodClass::of_namespace),
        }
    }

    /// The names of policies that may be for a pod, of which is not known whether they are.
    pub(crate) fn undecided(&self, class: &PodClass) -> Vec<String> {
        let of_namespace = self.policies.iter().filter(|policy| policy.namespace == class.namespace);
        let is_undecided =
            |policy: &&Policy| policy.pods.is_some_and(|selector| class.is_selected_by(selector).is_none());
        of_namespace.filter(is_undecided).map(|policy| format!("{}/{}", policy.namespace, policy.name)).collect()
    }
}
