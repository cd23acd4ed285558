//! Whether nodes can keep a policy. What users write is counted before it is read, because reading
//! multiplies it.

use super::problem::PolicyProblem;
use super::spec::MultiNetworkPolicySpec;
use crate::policy::rule::{PeerAddresses, PolicyRule};
use crate::policy::{PEERS_MAX, PORTS_MAX, RULES_MAX};

/// Whether a spec is small enough to be read.
pub(super) fn of_spec(spec: &MultiNetworkPolicySpec) -> Result<(), PolicyProblem> {
    let MultiNetworkPolicySpec { ingress, egress, .. } = spec;
    let rules = ingress.len().saturating_add(egress.len());
    let peers = ingress.iter().map(|rule| rule.from.len()).chain(egress.iter().map(|rule| rule.to.len()));
    let ports = ingress.iter().map(|rule| rule.ports.len()).chain(egress.iter().map(|rule| rule.ports.len()));
    fits(rules <= RULES_MAX && peers.sum::<usize>() <= PEERS_MAX && ports.sum::<usize>() <= PORTS_MAX)
}

/// Whether nodes can keep the rules: one peer may be many prefixes.
pub(super) fn of_rules<'rule>(rules: impl Iterator<Item = &'rule PolicyRule>) -> Result<(), PolicyProblem> {
    let peers = rules.map(|rule| match &rule.peers {
        PeerAddresses::Any => rule.peer_pods.len(),
        PeerAddresses::Within(prefixes) => prefixes.len() + rule.peer_pods.len(),
    });
    fits(peers.sum::<usize>() <= PEERS_MAX)
}

const fn fits(is_small: bool) -> Result<(), PolicyProblem> {
    if is_small { Ok(()) } else { Err(PolicyProblem::TooLarge) }
}
