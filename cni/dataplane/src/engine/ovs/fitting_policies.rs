//! The policies of a network that a switch takes. Pure.

use super::guarded::GuardedPorts;
use super::network_pods::NetworkPods;
use super::network_policies::NetworkPolicies;
use super::policy::limits::TooLarge;
use super::policy::{BridgePolicies, PolicyParts};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use usnet_crds::NamespaceName;
use usnet_crds::policy::Direction;
use usnet_crds::policy::pods::SelectorId;

/// Most namespaces that are closed before all of them are: each of them costs a compilation.
const CLOSED_MAX: usize = 8;

/// Namespaces whose policies need more than a switch takes, and whose ports are closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedNamespaces {
    pub why: TooLarge,
    /// `None` is all of them.
    pub namespaces: Option<BTreeSet<NamespaceName>>,
}

impl fmt::Display for ClosedNamespaces {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { why, namespaces } = self;
        let Some(namespaces) = namespaces else {
            return write!(formatter, "{why}; the ports of all pods of the network are closed here");
        };
        let names: Vec<&str> = namespaces.iter().map(NamespaceName::as_str).collect();
        write!(
            formatter,
            "{why}; the ports of pods of the namespaces with the most rules are closed here ({})",
            names.join(", ")
        )
    }
}

impl NetworkPolicies {
    /// What the network's bridge has for them; if that is more than a switch takes, the pods of the
    /// namespaces with the most rules are closed, so that what one tenant writes does not close the
    /// pods of others.
    pub(super) fn compile_what_fits(
        &self,
        ports: &GuardedPorts,
        pods: &NetworkPods,
        before: Option<&PolicyParts>,
    ) -> (PolicyParts, Option<ClosedNamespaces>) {
        let why = match self.compile(pods, before) {
            Ok(compiled) => return (compiled, None),
            Err(why) => why,
        };
        let (mut left, mut namespaces) = (self.clone(), BTreeSet::new());
        while let Some(largest) = left.largest().filter(|_| namespaces.len() < CLOSED_MAX) {
            left.policies = left.policies.iter().filter(|policy| policy.namespace != largest).cloned().collect();
            left.owners.retain(|_, owner| owner.namespace != largest);
            namespaces.insert(largest);
            if let Ok(compiled) = left.compile(&NetworkPods::of(&left, ports), before) {
                return (compiled, Some(ClosedNamespaces { why, namespaces: Some(namespaces) }));
            }
        }
        (PolicyParts::closed(self.zone, &pods.ports), Some(ClosedNamespaces { why, namespaces: None }))
    }

    fn compile(&self, pods: &NetworkPods, before: Option<&PolicyParts>) -> Result<PolicyParts, TooLarge> {
        let (zone, policies, NetworkPods { ports, peers }) = (self.zone, &self.policies, pods);
        PolicyParts::of(&BridgePolicies { zone, policies, ports, peers }, before)
    }

    /// The namespace whose policies have the most peers and ports. Each address of pods counts.
    fn largest(&self) -> Option<NamespaceName> {
        let mut addresses: BTreeMap<SelectorId, usize> = BTreeMap::new();
        for pod in self.pods.values() {
            for selector in &pod.class.selected_by {
                *addresses.entry(*selector).or_default() += pod.addresses.len();
            }
        }
        let mut sizes: BTreeMap<&NamespaceName, usize> = BTreeMap::new();
        for policy in self.policies.iter() {
            let rules = Direction::ALL.into_iter().filter_map(|direction| policy.rules(direction)).flatten();
            let selectors = rules.flat_map(|rule| &rule.peer_pods);
            let pods: usize = selectors.filter_map(|selector| addresses.get(selector)).sum();
            *sizes.entry(&policy.namespace).or_default() += policy.size() + pods;
        }
        sizes.into_iter().max_by_key(|(_, size)| *size).map(|(namespace, _)| namespace.clone())
    }
}
