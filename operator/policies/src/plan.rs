//! What is written and deleted, so that nodes get what was compiled. Pure.

use std::collections::BTreeMap;
use usnet_crds::compiled_policy::spec::CompiledPolicySpec;

/// A request to the API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Operation {
    Apply(String, CompiledPolicySpec),
    Delete(String),
}

/// What differs. Deletions come last: a policy that is created again under another name restricts
/// its pods meanwhile.
pub(crate) fn plan(
    observed: &BTreeMap<String, Option<CompiledPolicySpec>>,
    desired: &BTreeMap<String, CompiledPolicySpec>,
) -> Vec<Operation> {
    let differs = |(name, spec): &(&String, &CompiledPolicySpec)| {
        observed.get(*name).and_then(Option::as_ref).is_none_or(|observed| observed != *spec)
    };
    let applied = desired.iter().filter(differs).map(|(name, spec)| Operation::Apply(name.clone(), spec.clone()));
    let is_left = |name: &&String| !desired.contains_key(*name);
    applied.chain(observed.keys().filter(is_left).cloned().map(Operation::Delete)).collect()
}
