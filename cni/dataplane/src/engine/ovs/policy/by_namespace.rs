//! The policies of each namespace: with many of them, those of others are not looked at again for
//! each class of pods.

use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::policy::Policy;
use usnet_crds::policy::pods::SelectorId;

/// Policies by the names of their namespaces.
#[derive(Debug)]
pub(in crate::engine::ovs) struct PoliciesByNamespace<'a>(BTreeMap<&'a str, Vec<&'a Policy>>);

impl<'a> PoliciesByNamespace<'a> {
    pub(in crate::engine::ovs) fn of(policies: &'a [Policy]) -> Self {
        let mut all: BTreeMap<&str, Vec<&Policy>> = BTreeMap::new();
        for policy in policies {
            all.entry(policy.namespace.as_str()).or_default().push(policy);
        }
        Self(all)
    }

    /// The policies of a namespace.
    pub(in crate::engine::ovs) fn of_namespace(&self, namespace: &str) -> impl Iterator<Item = &'a Policy> {
        self.0.get(namespace).into_iter().flatten().copied()
    }

    /// The selectors of pods that the policies of a namespace are for; `None` without policies.
    pub(super) fn selectors(&self, namespace: &str) -> Option<BTreeSet<SelectorId>> {
        self.0.get(namespace).map(|policies| policies.iter().filter_map(|policy| policy.pods).collect())
    }
}
