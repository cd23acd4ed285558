//! Reads the policies of users. What cannot be enforced matches nothing: a rule of which all peers
//! or all ports are refused allows nothing, although one without peers or ports allows all. A
//! policy whose selector cannot be read restricts all pods of its namespace and allows nothing; one
//! that nodes cannot keep restricts its pods and allows nothing.

use super::definitions::{DefinitionName, definitions};
use super::problem::{FieldProblem, PolicyProblem};
use super::reading::Reading;
use super::selector::{PodSelector, SelectedNamespaces, labels};
use super::spec::{EgressRule, IngressRule, MultiNetworkPolicy, MultiNetworkPolicySpec};
use super::{peers, ports, size};
use crate::NamespaceName;
use crate::policy::Policy;
use crate::policy::pods::SelectorId;
use crate::policy::rule::PolicyRule;
use kube::ResourceExt;
use std::collections::{BTreeMap, BTreeSet};

const INGRESS: &str = "Ingress";
const EGRESS: &str = "Egress";

/// A policy of a user, as far as it can be enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadPolicy {
    /// The networks that it is for, by their NADs.
    pub definitions: BTreeSet<DefinitionName>,
    /// `None` if its namespace cannot be one.
    pub policy: Option<Policy>,
    /// The selectors that the policy names by their ids.
    pub selectors: BTreeMap<SelectorId, PodSelector>,
    /// What cannot be enforced, in the order of the fields.
    pub problems: Vec<FieldProblem>,
}

/// Reads a policy.
pub fn read(object: &MultiNetworkPolicy) -> ReadPolicy {
    let (definitions, problems) = definitions(object);
    let mut reading = Reading::new(problems);
    let namespace = NamespaceName::try_from(object.namespace().unwrap_or_default());
    let namespace = reading.check("metadata.namespace", namespace.map_err(PolicyProblem::from));
    let pods = labels(Some(&object.spec.pod_selector)).map_err(unreadable);
    let pods = reading.check("spec.podSelector", pods);
    // What it allows would be for some of the pods, and which these are is not known.
    let is_readable = pods.is_some();
    let allowed = |rules: Rules| if is_readable { rules } else { rules.map(|_| Vec::new()) };
    let (ingress, egress) = rules(&mut reading, namespace.as_ref(), &object.spec);
    let (ingress, egress) = (allowed(ingress), allowed(egress));
    let policy = namespace.map(|namespace| {
        let pods = pods.filter(|pods| !pods.selects_all()).map(|pods| {
            reading.selector(PodSelector { namespaces: SelectedNamespaces::Only(namespace.clone()), pods })
        });
        Policy { namespace, name: object.name_any(), pods, ingress, egress }
    });
    let (problems, selectors) = reading.finish();
    ReadPolicy { definitions, policy, selectors, problems }
}

fn unreadable(problem: PolicyProblem) -> PolicyProblem {
    match problem {
        PolicyProblem::Selector(why) => PolicyProblem::PodSelector(why),
        other => other,
    }
}

type Rules = Option<Vec<PolicyRule>>;

fn rules(reading: &mut Reading, own: Option<&NamespaceName>, spec: &MultiNetworkPolicySpec) -> (Rules, Rules) {
    let (has_ingress, has_egress) = directions(reading, spec);
    let nothing = (has_ingress.then(Vec::new), has_egress.then(Vec::new));
    if reading.check("spec", size::of_spec(spec)).is_none() {
        return nothing;
    }
    let ingress: Rules = has_ingress.then(|| {
        let rule = |(place, rule): (usize, &IngressRule)| {
            let ports = ports::ranges(reading, &format!("spec.ingress[{place}].ports"), &rule.ports);
            let (peers, peer_pods) = peers::peers(reading, &format!("spec.ingress[{place}].from"), own, &rule.from);
            PolicyRule { peers, peer_pods, ports }
        };
        spec.ingress.iter().enumerate().map(rule).collect()
    });
    let egress: Rules = has_egress.then(|| {
        let rule = |(place, rule): (usize, &EgressRule)| {
            let ports = ports::ranges(reading, &format!("spec.egress[{place}].ports"), &rule.ports);
            let (peers, peer_pods) = peers::peers(reading, &format!("spec.egress[{place}].to"), own, &rule.to);
            PolicyRule { peers, peer_pods, ports }
        };
        spec.egress.iter().enumerate().map(rule).collect()
    });
    let all = ingress.iter().chain(&egress).flatten();
    let fits = size::of_rules(all);
    reading.check("spec", fits).map_or(nothing, |()| (ingress, egress))
}

/// Whether the policy restricts connections to the pods, and connections of them. Other
/// implementations take the types in any case.
fn directions(reading: &mut Reading, spec: &MultiNetworkPolicySpec) -> (bool, bool) {
    if spec.policy_types.is_empty() {
        return (true, !spec.egress.is_empty());
    }
    let has = |name: &str| spec.policy_types.iter().any(|text| text.eq_ignore_ascii_case(name));
    let is_known = |text: &str| text.eq_ignore_ascii_case(INGRESS) || text.eq_ignore_ascii_case(EGRESS);
    if let Some((place, text)) = spec.policy_types.iter().enumerate().find(|(_, text)| !is_known(text)) {
        let problem = PolicyProblem::PolicyType(text.clone());
        reading.check::<()>(&format!("spec.policyTypes[{place}]"), Err(problem));
    }
    (has(INGRESS), has(EGRESS))
}
