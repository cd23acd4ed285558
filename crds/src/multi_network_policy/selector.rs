//! Selectors of pods: those that a policy is for, and those that are peers.

use super::problem::PolicyProblem;
use crate::NamespaceName;
use crate::network::selectors::selector;
use crate::policy::pods::SelectorId;
use crate::problem::Problems;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Expression, Selector, SelectorExt as _};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Which pods of which namespaces are selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodSelector {
    pub namespaces: SelectedNamespaces,
    pub pods: Selector,
}

/// The namespaces of selected pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectedNamespaces {
    Only(NamespaceName),
    Labelled(Selector),
}

impl PodSelector {
    /// Whether pods with these labels, in a namespace of this name and with these labels, are
    /// selected.
    pub fn selects(
        &self,
        labels: &BTreeMap<String, String>,
        namespace: &str,
        namespace_labels: &BTreeMap<String, String>,
    ) -> bool {
        let is_in_namespace = match &self.namespaces {
            SelectedNamespaces::Only(only) => only.as_str() == namespace,
            SelectedNamespaces::Labelled(selector) => selector.matches(namespace_labels),
        };
        is_in_namespace && self.pods.matches(labels)
    }

    /// The id of the selector. Selectors that say the same in another order have one id.
    pub fn id(&self) -> SelectorId {
        let namespaces = match &self.namespaces {
            SelectedNamespaces::Only(name) => json!({"name": name}),
            SelectedNamespaces::Labelled(selector) => json!({"labels": canonical(selector)}),
        };
        let text = json!({"namespaces": namespaces, "pods": canonical(&self.pods)}).to_string();
        let hash = digest(&SHA256, text.as_bytes());
        let first = hash.as_ref().iter().take(16);
        SelectorId::new(first.fold(0, |number, byte| number << 8 | u128::from(*byte)))
    }
}

/// The requirements of a selector, sorted.
fn canonical(selector: &Selector) -> Vec<Value> {
    let mut requirements: Vec<String> =
        selector.clone().into_iter().map(|requirement| of_requirement(requirement).to_string()).collect();
    requirements.sort_unstable();
    requirements.dedup();
    requirements.into_iter().map(Value::from).collect()
}

fn of_requirement(requirement: Expression) -> Value {
    match requirement {
        Expression::In(key, values) => json!(["in", key, values]),
        Expression::NotIn(key, values) => json!(["not in", key, values]),
        Expression::Equal(key, value) => json!(["in", key, [value]]),
        Expression::NotEqual(key, value) => json!(["not in", key, [value]]),
        Expression::Exists(key) => json!(["exists", key]),
        Expression::DoesNotExist(key) => json!(["does not exist", key]),
    }
}

/// Reads a selector of labels. No selector, and one without requirements, select all.
pub(super) fn labels(text: Option<&LabelSelector>) -> Result<Selector, PolicyProblem> {
    let mut problems = Problems::default();
    let read = text.map_or_else(|| Some(Selector::default()), |text| selector(&mut problems, "", text));
    read.ok_or_else(|| PolicyProblem::Selector(problems.into_invalid().to_string()))
}
