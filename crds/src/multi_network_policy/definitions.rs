//! The NADs that a policy is for.

use super::problem::{FieldProblem, PolicyProblem};
use super::spec::{DEFINITIONS_MAX, MultiNetworkPolicy, POLICY_FOR_ANNOTATION};
use crate::NamespaceName;
use kube::ResourceExt;
use std::collections::BTreeSet;

/// A NAD, by which a policy names a network.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DefinitionName {
    pub namespace: NamespaceName,
    pub name: String,
}

/// The NADs that a policy is for; those of its own namespace may be without one.
pub fn definitions(policy: &MultiNetworkPolicy) -> (BTreeSet<DefinitionName>, Vec<FieldProblem>) {
    let text = policy.annotations().get(POLICY_FOR_ANNOTATION).map(String::as_str).unwrap_or_default();
    let own = policy.namespace().unwrap_or_default();
    let mut found = BTreeSet::new();
    let mut problems = Vec::new();
    let mut add = |problem| problems.push(FieldProblem { field: annotation_field(), problem });
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    for entry in entries.clone().take(DEFINITIONS_MAX) {
        match definition(entry, &own) {
            Some(definition) => drop(found.insert(definition)),
            None => add(PolicyProblem::Definition(entry.to_owned())),
        }
    }
    if entries.count() > DEFINITIONS_MAX {
        add(PolicyProblem::TooManyDefinitions);
    }
    if found.is_empty() && problems.is_empty() {
        problems.push(FieldProblem { field: annotation_field(), problem: PolicyProblem::NoDefinition });
    }
    (found, problems)
}

fn annotation_field() -> String {
    format!("metadata.annotations[{POLICY_FOR_ANNOTATION}]")
}

fn definition(entry: &str, own_namespace: &str) -> Option<DefinitionName> {
    let (namespace, name) = entry.split_once('/').unwrap_or((own_namespace, entry));
    let (namespace, name) = (namespace.trim(), name.trim());
    let is_name = !name.is_empty() && !name.contains('/');
    is_name.then(|| Some(DefinitionName { namespace: namespace.parse().ok()?, name: name.to_owned() }))?
}
