//! Status (pure): what the status of a network should say, from what nodes report and which NADs are there.

mod active;
mod deleting;
pub mod deletion;
pub mod due;
pub mod selected_nodes;
pub mod tally;

use super::cache::nads::Availability;
use super::cache::{Cache, Network};
use super::compile::Stage;
use super::compile::nads::NadProgress;
use deletion::DeletionState;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use selected_nodes::SelectedNodes;
use tally::Tally;
use usnet_crds::UserspaceNetworkStatus;
use usnet_crds::conditions::merge;
use usnet_crds::network::NodeCounts;

/// What the other steps found out about a network.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts<'a> {
    /// Nodes were not told yet of the network as it is now.
    pub is_outdated: bool,
    /// Why the API server does not accept its compiled network.
    pub refusal: Option<&'a str>,
    /// How its NADs are; none before they were compared.
    pub nads: Option<&'a NadProgress>,
}

/// All that a status is made of.
#[derive(Debug)]
struct StatusInputs<'a> {
    name: &'a str,
    network: &'a Network,
    stage: Stage<'a>,
    facts: Facts<'a>,
    availability: Availability,
    tally: Tally,
}

/// What a status evaluation comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The status that the network should have; none when it should be left as it is.
    pub status: Option<UserspaceNetworkStatus>,
    /// The network is being deleted and is in use nowhere any more.
    pub may_delete: bool,
    /// Interfaces of pods are attached on nodes that are not ready: a change of their number is worth a write of its own.
    pub has_unreachable_pods: bool,
}

/// Evaluates one network.
pub fn evaluate(cache: &Cache, nodes: &mut SelectedNodes<'_>, name: &str, facts: Facts<'_>, now: &Time) -> Evaluation {
    let nothing = Evaluation { status: None, may_delete: false, has_unreachable_pods: false };
    let Some(network) = cache.networks.get(name) else { return nothing };
    let stage = Stage::of(network);
    if stage == Stage::New {
        return nothing;
    }
    let old = network.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let generation = Some(network.generation);
    if stage == Stage::Deleting {
        let state = DeletionState::of(cache, nodes, name, network, facts.is_outdated);
        let may_delete = state.may_delete(name);
        let status = (!may_delete && network.has_finalizer).then(|| UserspaceNetworkStatus {
            observed_generation: generation,
            conditions: merge(old, deleting::conditions(&state), generation, now),
            nodes: deleting::counts(&state),
            attachments: state.attachments,
            connected: state.connected,
            failures: Vec::new(),
        });
        return Evaluation { status, may_delete, has_unreachable_pods: false };
    }
    let tally = Tally::of(nodes, name, cache.compiled.get(name), facts.is_outdated);
    let (attachments, connected, has_unreachable_pods) =
        (tally.attachments, tally.connected, tally.has_unreachable_pods);
    let counts: NodeCounts = tally.counts();
    let failures = tally.failures.clone();
    let inputs = StatusInputs { name, network, stage, facts, availability: cache.nads.availability, tally };
    let status = UserspaceNetworkStatus {
        observed_generation: generation,
        conditions: merge(old, active::conditions(&inputs), generation, now),
        nodes: counts,
        attachments,
        connected,
        failures,
    };
    Evaluation { status: Some(status), may_delete: false, has_unreachable_pods }
}

/// A number with its noun.
fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
