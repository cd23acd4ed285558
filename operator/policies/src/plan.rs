//! What is written and deleted, so that nodes get what was compiled. Pure.

use crate::observed::Stored;
use crate::slices::Slices;
use std::collections::BTreeMap;
use usnet_crds::compiled_policy::spec::CompiledPolicySpec;
use usnet_crds::pod_slice::UserspacePodSliceSpec;

/// A request to the API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Operation {
    ApplySlice(String, UserspacePodSliceSpec),
    DeleteSlice(String),
    ApplyPolicy(String, CompiledPolicySpec),
    DeletePolicy(String),
}

impl Operation {
    /// The name of the slice that it changes.
    pub(crate) fn slice(&self) -> Option<&str> {
        match self {
            Self::ApplySlice(name, _) | Self::DeleteSlice(name) => Some(name),
            Self::ApplyPolicy(..) | Self::DeletePolicy(_) => None,
        }
    }
}

/// What differs. Slices come first: with a policy before them, pods that it may select are closed
/// until nodes know whether it does. Deletions of policies come last: a policy that is created
/// again under another name restricts its pods meanwhile.
pub(crate) fn plan(
    slices: (&Stored<UserspacePodSliceSpec>, &Slices),
    policies: (&Stored<CompiledPolicySpec>, &BTreeMap<String, CompiledPolicySpec>),
) -> Vec<Operation> {
    let mut operations = differences(slices, Operation::ApplySlice, Operation::DeleteSlice);
    operations.extend(differences(policies, Operation::ApplyPolicy, Operation::DeletePolicy));
    operations
}

fn differences<T: PartialEq + Clone>(
    (stored, desired): (&Stored<T>, &BTreeMap<String, T>),
    apply: fn(String, T) -> Operation,
    delete: fn(String) -> Operation,
) -> Vec<Operation> {
    let differs = |(name, spec): &(&String, &T)| stored.get(*name).and_then(Option::as_ref) != Some(*spec);
    let applied = desired.iter().filter(differs).map(|(name, spec)| apply(name.clone(), spec.clone()));
    let is_left = |name: &&String| !desired.contains_key(*name);
    applied.chain(stored.keys().filter(is_left).cloned().map(delete)).collect()
}
