//! All compiled policies, and what each policy asks for in vain. Pure.

use crate::definitions::{DefinitionProblem, network_of};
use crate::object_name::ObjectName;
use crate::observed::{Observed, ObservedPolicy};
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::NetworkName;
use usnet_crds::compiled_policy::spec::CompiledPolicySpec;
use usnet_crds::multi_network_policy::problem::FieldProblem;
use usnet_crds::multi_network_policy::selector::PodSelector;
use usnet_crds::policy::pods::SelectorId;

/// What follows from all policies.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Compilation {
    /// By the names of the objects.
    pub(crate) compiled: BTreeMap<String, CompiledPolicySpec>,
    /// What nodes do not enforce of each policy that is for a network.
    pub(crate) problems: BTreeMap<ObjectName, Vec<Problem>>,
    /// The selectors that the compiled policies name by their ids.
    pub(crate) selectors: BTreeMap<SelectorId, PodSelector>,
}

/// Why nodes do not enforce a part of a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Problem {
    #[error(transparent)]
    Field(#[from] FieldProblem),
    #[error(transparent)]
    Definition(#[from] DefinitionProblem),
    #[error("network {0} has no policies, and nothing restricts its pods: set its spec.policies to Enabled")]
    Disabled(NetworkName),
}

/// Compiles all policies, also for networks that have none or do not exist yet: nodes have them
/// before the network does.
pub(crate) fn compile(observed: &Observed) -> Compilation {
    let mut result = Compilation::default();
    for (name, policy) in &observed.policies.objects {
        let (networks, problems) = networks(observed, policy);
        let is_for_usnet = networks.iter().any(|network| observed.networks.objects.contains_key(network.as_str()));
        if is_for_usnet || !problems.is_empty() {
            let disabled = networks.iter().filter(|network| is_disabled(observed, network));
            let fields = policy.read.problems.iter().cloned().map(Problem::from);
            let all = fields.chain(problems.into_iter().map(Problem::from));
            let all: Vec<Problem> = all.chain(disabled.cloned().map(Problem::Disabled)).collect();
            if !all.is_empty() {
                result.problems.insert(name.clone(), all);
            }
        }
        if !networks.is_empty()
            && let Some(read) = policy.read.policy.clone()
        {
            let spec = CompiledPolicySpec::new(networks, policy.generation, read);
            result.selectors.extend(policy.read.selectors.clone());
            result.compiled.insert(spec.object_name(), spec);
        }
    }
    result
}

/// The networks that a policy is for, and NADs of usnet that are for none.
fn networks(observed: &Observed, policy: &ObservedPolicy) -> (BTreeSet<NetworkName>, Vec<DefinitionProblem>) {
    let (mut networks, mut problems) = (BTreeSet::new(), Vec::new());
    for named in &policy.read.definitions {
        match network_of(&observed.definitions.objects, named) {
            Some(Ok(network)) => drop(networks.insert(network)),
            Some(Err(problem)) => problems.push(problem),
            None => {}
        }
    }
    (networks, problems)
}

fn is_disabled(observed: &Observed, network: &NetworkName) -> bool {
    observed.networks.objects.get(network.as_str()).is_some_and(|network| !network.has_policies)
}
