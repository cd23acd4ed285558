//! When the finalizer of a deleted network may be removed: after every node has confirmed that it
//! rejects new pods, and none is left.

use super::inputs::Facts;
use super::selected_nodes::{NodeView, SelectedNodes};
use crate::cache::objects::Selection;
use crate::cache::{Cache, Network, NodeState};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::conditions::reason::{FOREIGN_PORTS, RECORD_UNREADABLE};
use usnet_crds::{Phase, ValidUplink};

/// Why an agent may not remove a bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocker {
    /// The reason that the agent reports.
    pub reason: &'static str,
    /// The message for users.
    pub message: String,
}

/// What blocks the deletion of a network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeletionState {
    pub attachments: i64,
    /// The attached interfaces whose program is connected to the engine.
    pub connected: i64,
    /// The pods of these interfaces, as namespace/name; each node names only some.
    pub pods: BTreeSet<String>,
    /// Nodes that have pods on the network.
    pub nodes_in_use: BTreeSet<String>,
    /// Nodes whose agents have not confirmed yet that the network is removed.
    pub pending_nodes: BTreeSet<String>,
    /// The value of the annotation that forces the deletion.
    pub force: Option<String>,
    /// Why agents may not remove the bridge, by node. Only an operator can change that.
    pub blockers: BTreeMap<String, Blocker>,
    /// Whether the deletion was requested of an earlier installation.
    is_of_earlier_installation: bool,
    /// Whether the phase Draining is not written to a compiled network yet.
    is_drain_unpublished: bool,
}

impl DeletionState {
    /// Evaluates the deletion on the nodes of the cluster. Nodes that left the cluster do not
    /// count.
    pub fn of(cache: &Cache, nodes: &mut SelectedNodes<'_>, name: &str, network: &Network, facts: Facts<'_>) -> Self {
        let compiled = cache.compiled.get(name).filter(|compiled| compiled.owner.as_ref() == Some(&network.uid));
        let selection = compiled.and_then(|compiled| compiled.selection.as_ref());
        let is_draining = selection.is_some_and(|selection| selection.phase == Phase::Draining);
        let version =
            compiled.filter(|_| is_draining && !facts.is_outdated).map_or(u64::MAX, |compiled| compiled.version);
        // A compiled network that was lost, as with its CRD, is written again before anything else:
        // agents confirm what they were told. One that the API server rejects never arrives.
        let is_drain_unpublished =
            if compiled.is_some() { !is_draining } else { facts.is_outdated && facts.rejection.is_none() };
        let force = network.force_delete.clone();
        let is_of_earlier_installation = cache.is_of_earlier_installation(network.deleted.as_ref());
        let mut deletion = Self { force, is_of_earlier_installation, is_drain_unpublished, ..Self::default() };
        let uplink = selection.and_then(|selection| nodes.uplink(selection));
        for view in nodes.all() {
            deletion.add_report(*view, name);
            // A state that lost its owner is written or deleted first: what it reports may be true.
            let is_disowned = view.state.is_none() && cache.states.contains_key(view.name);
            if is_disowned || is_pending_node(*view, selection.map(|it| (it, uplink)), version, network) {
                deletion.pending_nodes.insert(view.name.to_owned());
            }
        }
        deletion
    }

    fn add_report(&mut self, view: NodeView<'_>, name: &str) {
        let Some(report) = view.state.and_then(|state| state.report(name)) else { return };
        if report.attachments > 0 {
            self.attachments = self.attachments.saturating_add(report.attachments);
            self.connected = self.connected.saturating_add(report.connected);
            self.pods.extend(report.pods.iter().cloned());
            self.nodes_in_use.insert(view.name.to_owned());
        }
        if let Some(reason) = [FOREIGN_PORTS, RECORD_UNREADABLE].into_iter().find(|reason| report.reason == *reason) {
            self.blockers.insert(view.name.to_owned(), Blocker { reason, message: report.message.clone() });
        }
        self.pending_nodes.insert(view.name.to_owned());
    }

    /// Whether the finalizer may be removed: the network is not in use anywhere, or its deletion is
    /// forced by its name, or older than this installation: then pods have attached that no agent
    /// could reject, and a tool that installs usnet and its networks together would wait for them
    /// indefinitely. Agents keep the bridge and the ports of running pods even then. Draining is
    /// published to nodes first in any case, so that no new pod attaches.
    pub fn may_delete(&self, network: &str) -> bool {
        let does_not_wait = self.force.as_deref() == Some(network) || self.is_of_earlier_installation;
        !self.is_drain_unpublished && (does_not_wait || (self.attachments == 0 && self.pending_nodes.is_empty()))
    }
}

/// Whether the node may still carry the network although it reports nothing about it.
fn is_pending_node(
    view: NodeView<'_>,
    selection: Option<(&Selection, Option<&ValidUplink>)>,
    version: u64,
    network: &Network,
) -> bool {
    let selects = |(selection, uplink): (&Selection, _)| view.is_selected(selection, uplink);
    match view.state.and_then(|state| Some((state, state.status.as_ref()?))) {
        // An agent that has not observed the current labels may still carry what the earlier ones
        // selected.
        Some((state, status)) => !state.is_observed() || (selection.is_some_and(selects) && status.through < version),
        // Without a compiled network, the nodes that it selected are unknown.
        None => selection.is_none_or(selects) && has_lost_state(view, network.deleted.as_ref()),
    }
}

/// Whether the state of the node was lost: the node is older than the deletion, its
/// UserspaceNodeState is not. Its agent will report it. A node that is not ready may have no
/// running agent.
fn has_lost_state(view: NodeView<'_>, deleted: Option<&Time>) -> bool {
    let (Some(deleted), Some(created)) = (deleted, &view.node.created) else { return false };
    let is_newer = |state: &NodeState| state.created.as_ref() > Some(deleted);
    view.node.is_ready && created < deleted && view.state.is_none_or(is_newer)
}
