//! What the node should have by a folder of manifests: the controller's `compile`, and what only matters without an API server. Pure.

use super::cluster::{Described, NodeFacts, describe};
use super::folder::Folder;
use super::problem::Problem;
use crate::agent::spec::NodeSpec;
use crate::controller::compile::{Verdict, compile};
use std::sync::Arc;
use usnet_crds::node_network::ANY_NAMESPACE;
use usnet_crds::{NodeNetwork, Phase};

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decision {
    /// What the node should have. Its generation is another one if that is not what it had.
    pub spec: NodeSpec,
    /// What has no effect, and why.
    pub problems: Vec<Problem>,
}

/// Decides.
pub(super) fn decide(folder: &Folder, node: NodeFacts<'_>) -> Decision {
    let described = describe(folder, node);
    let mut compiled = compile(&described.inputs);
    let held = node.held.cloned().unwrap_or_default();
    let networks: Vec<NodeNetwork> = compiled
        .nodes
        .remove(node.name)
        .unwrap_or_default()
        .into_values()
        .map(|network| numbered(opened(Arc::unwrap_or_clone(network), &described), &held))
        .collect();
    let mut problems = described.problems;
    for (name, verdict) in &compiled.verdicts {
        // Why a document cannot be used has been said with its line.
        let is_said = problems.iter().any(|problem| problem.network.as_ref() == Some(name));
        if let (Verdict::Refused { message, .. }, Some(source), false) = (verdict, described.sources.get(name), is_said)
        {
            let (field, message) = message.split_once(": ").unwrap_or(("", message));
            problems.push(source.problem(field, Some(name), message.to_owned()));
        }
    }
    problems.sort();
    // A new node has generation 1 from its first word on, as an object of the API server would.
    let is_new = node.held.is_none() || held.networks != networks;
    Decision { spec: NodeSpec { generation: held.generation + i64::from(is_new), networks }, problems }
}

/// A network for all namespaces is for those, too, that nobody names here. A selector that leaves some out is not: it cannot be told whether it would leave out an
/// unknown one.
fn opened(mut network: NodeNetwork, described: &Described) -> NodeNetwork {
    let spec = described.inputs.networks.get(network.name.as_str()).map(|network| &network.spec);
    if matches!(spec, Some(Ok(valid)) if valid.namespaces.selects_all()) && network.phase == Phase::Active {
        network.allowed_namespaces.insert(ANY_NAMESPACE.to_owned());
    }
    network
}

/// Each change of what a node has of a network is a new generation of it.
fn numbered(mut network: NodeNetwork, held: &NodeSpec) -> NodeNetwork {
    let before = held.networks.iter().find(|held| held.name == network.name);
    match before {
        Some(before) if *before == network => {}
        // It only goes: what its pods have is what they had.
        Some(_) if network.phase == Phase::Draining => {}
        Some(before) => network.generation = before.generation + 1,
        None => network.generation = 1,
    }
    network
}

#[cfg(test)]
mod tests;
