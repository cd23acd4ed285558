//! The status of one network.

use super::deletion::DeletionState;
use super::inputs::{Facts, StatusInputs};
use super::selected_nodes::SelectedNodes;
use super::tally::Tally;
use super::{active, deleting};
use crate::cache::{Cache, Network, adopted_bridges, bridge_rivals};
use crate::compile::Stage;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::collections::BTreeSet;
use usnet_crds::UserspaceNetworkStatus;
use usnet_crds::conditions::merge;
use usnet_crds::network::{NodeCounts, OverlayStatus, STATUS_PODS_MAX};

/// The result of evaluating a status.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The desired status; none to leave the current one.
    pub status: Option<UserspaceNetworkStatus>,
    /// Whether the network is being deleted and no longer in use.
    pub may_delete: bool,
    /// Whether pods are attached on nodes that are not ready: a change of the number of those nodes
    /// is worth a write of its own.
    pub has_unreachable_pods: bool,
}

pub fn evaluate(cache: &Cache, nodes: &mut SelectedNodes<'_>, name: &str, facts: Facts<'_>, now: &Time) -> Evaluation {
    let nothing = Evaluation { status: None, may_delete: false, has_unreachable_pods: false };
    let Some(network) = cache.networks.get(name) else { return nothing };
    let stage = Stage::of(cache, name, network);
    if stage == Stage::New {
        return nothing;
    }
    let old = network.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let generation = Some(network.generation);
    let overlay = overlay(cache, name, network);
    if stage == Stage::Deleting {
        let state = DeletionState::of(cache, nodes, name, network, facts);
        let may_delete = state.may_delete(name);
        let status = (!may_delete && network.has_finalizer()).then(|| UserspaceNetworkStatus {
            observed_generation: generation,
            conditions: merge(old, deleting::conditions(&state), generation, now),
            nodes: deleting::counts(&state),
            attachments: state.attachments,
            connected: state.connected,
            pods: first(&state.pods),
            overlay,
            failures: Vec::new(),
        });
        return Evaluation { status, may_delete, has_unreachable_pods: false };
    }
    let tally = Tally::of(nodes, name, cache.compiled.get(name), facts.is_outdated);
    let (attachments, connected, has_unreachable_pods) =
        (tally.attachments, tally.connected, tally.has_unreachable_pods);
    let counts: NodeCounts = tally.counts();
    let (pods, failures) = (first(&tally.pods), tally.failures.clone());
    let (availability, refused_rivals) = (cache.nads.availability, adopted_bridges::refused_rivals(cache, network));
    let has_leaving_rival = tally.has_conflicts_only() && bridge_rivals::has_leaving_rival(cache, network);
    let inputs = StatusInputs { name, network, stage, facts, availability, tally, refused_rivals, has_leaving_rival };
    let status = UserspaceNetworkStatus {
        observed_generation: generation,
        conditions: merge(old, active::conditions(&inputs), generation, now),
        nodes: counts,
        attachments,
        connected,
        pods,
        overlay,
        failures,
    };
    Evaluation { status: Some(status), may_delete: false, has_unreachable_pods }
}

/// The pods that fit into the status.
fn first(pods: &BTreeSet<String>) -> Vec<String> {
    pods.iter().take(STATUS_PODS_MAX).cloned().collect()
}

/// The overlay that nodes have, or are to have.
fn overlay(cache: &Cache, name: &str, network: &Network) -> Option<OverlayStatus> {
    let valid = network.spec.as_ref().ok();
    let desired = valid.and_then(|valid| cache.overlays.compiled(name, valid.topology.overlay()?));
    let held = || cache.compiled.get(name)?.selection.as_ref()?.overlay.clone();
    let is_settled = valid.is_some_and(|valid| valid.topology.overlay().is_none());
    let overlay = if is_settled { None } else { desired.or_else(held) };
    overlay.map(|overlay| OverlayStatus { vni: overlay.vni })
}
