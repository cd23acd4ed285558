//! The selectors that the policies of networks use. Pure.

use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::compiled_policy::spec::CompiledPolicySpec;
use usnet_crds::policy::pods::SelectorId;
use usnet_crds::{NamespaceName, NetworkName};

/// The selectors of the policies of one network.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct UsedSelectors {
    /// Those of the pods that policies are for, by namespace.
    pub(crate) subjects: BTreeMap<NamespaceName, BTreeSet<SelectorId>>,
    /// Those of peers.
    pub(crate) peers: BTreeSet<SelectorId>,
}

impl UsedSelectors {
    /// The selectors of pods and of peers.
    pub(crate) fn all(&self) -> impl Iterator<Item = SelectorId> {
        self.subjects.values().flatten().chain(&self.peers).copied()
    }
}

/// The selectors that these policies use, by network. Networks whose policies use none are left
/// out.
pub(crate) fn used<'a>(
    policies: impl IntoIterator<Item = &'a CompiledPolicySpec>,
) -> BTreeMap<NetworkName, UsedSelectors> {
    let mut used: BTreeMap<NetworkName, UsedSelectors> = BTreeMap::new();
    for policy in policies {
        let rules = policy.rules().into_iter().flatten().flatten();
        let peers: BTreeSet<SelectorId> = rules.flat_map(|rule| rule.pods.iter().copied()).collect();
        let subject = policy.selected.as_ref().map(|selected| selected.selector);
        if peers.is_empty() && subject.is_none() {
            continue;
        }
        for network in &policy.networks {
            let of_network = used.entry(network.clone()).or_default();
            of_network.peers.extend(&peers);
            if let Some(subject) = subject {
                of_network.subjects.entry(policy.namespace.clone()).or_default().insert(subject);
            }
        }
    }
    used
}
