//! The progress of a network on its selected nodes.

use super::selected_nodes::{NodeView, SelectedNodes};
use crate::cache::Compiled;
use crate::cache::objects::Selection;
use std::collections::BTreeSet;
use usnet_crds::conditions::reason::{BRIDGE_CONFLICT, ENGINE_UNREACHABLE, needs_operator};
use usnet_crds::network::{FAILURES_MAX, NodeCounts, NodeFailure};
use usnet_crds::node_state::NetworkState;

/// The progress of a network on one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeProgress<'a> {
    /// The node is NotReady.
    Unreachable,
    Pending,
    /// The network is programmed, as verified by reading the engine after the last change.
    Programmed,
    Failed {
        reason: &'a str,
        message: &'a str,
    },
}

impl<'a> NodeProgress<'a> {
    /// The progress of the network compiled as `version`, on a selected node.
    pub fn of(view: NodeView<'a>, name: &str, version: u64, selection: &Selection) -> Self {
        if !view.node.is_ready {
            return Self::Unreachable;
        }
        let Some(state) = view.state.filter(|state| state.is_observed()) else { return Self::Pending };
        let Some(status) = &state.status else { return Self::Pending };
        if let Some(message) = status.down.get(&selection.engine) {
            return Self::Failed { reason: ENGINE_UNREACHABLE, message };
        }
        if status.through < version {
            return Self::Pending;
        }
        match status.reports.get(name) {
            None => Self::Programmed,
            Some(report) => match report.state {
                NetworkState::Programmed => Self::Programmed,
                NetworkState::Failed => Self::Failed { reason: &report.reason, message: &report.message },
                NetworkState::Pending | NetworkState::Draining => Self::Pending,
            },
        }
    }
}

/// Node counts of one network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    pub selected: usize,
    /// Nodes where the network is programmed.
    pub programmed: usize,
    /// Nodes that are NotReady.
    pub unreachable: usize,
    /// Nodes where the network is not programmed yet.
    pub pending: usize,
    /// The first pending node by name.
    pub first_pending: Option<String>,
    /// Nodes where programming the network failed.
    pub failed: usize,
    /// The failures that fit into the status, sorted by node.
    pub failures: Vec<NodeFailure>,
    /// Failed nodes that require operator action.
    terminal: usize,
    /// Failed nodes where another network has the bridge.
    conflicts: usize,
    pub attachments: i64,
    /// The attached interfaces whose program is connected to the engine.
    pub connected: i64,
    /// The pods of these interfaces, as namespace/name; each node names only some.
    pub pods: BTreeSet<String>,
    /// Whether some of the pods are on nodes that are NotReady.
    pub has_unreachable_pods: bool,
}

impl Tally {
    /// Counts the nodes. While the compiled network is outdated, no node counts as programmed.
    pub fn of(nodes: &mut SelectedNodes<'_>, name: &str, compiled: Option<&Compiled>, is_outdated: bool) -> Self {
        let mut tally = Self::default();
        for view in nodes.all() {
            let Some(report) = view.state.and_then(|state| state.report(name)) else { continue };
            tally.attachments = tally.attachments.saturating_add(report.attachments);
            tally.connected = tally.connected.saturating_add(report.connected);
            tally.pods.extend(report.pods.iter().cloned());
            tally.has_unreachable_pods |= report.attachments > 0 && !view.node.is_ready;
        }
        let Some((compiled, selection)) = compiled.and_then(|it| Some((it, it.selection.as_ref()?))) else {
            return tally;
        };
        let version = if is_outdated { u64::MAX } else { compiled.version };
        for view in nodes.of(selection).iter() {
            tally.add(view.name, NodeProgress::of(*view, name, version, selection));
        }
        tally
    }

    fn add(&mut self, node: &str, progress: NodeProgress<'_>) {
        self.selected += 1;
        match progress {
            NodeProgress::Unreachable => self.unreachable += 1,
            NodeProgress::Programmed => self.programmed += 1,
            NodeProgress::Pending => {
                self.pending += 1;
                self.first_pending.get_or_insert_with(|| node.to_owned());
            }
            NodeProgress::Failed { reason, message } => {
                self.failed += 1;
                self.terminal += usize::from(needs_operator(reason));
                self.conflicts += usize::from(reason == BRIDGE_CONFLICT);
                if self.failures.len() < FAILURES_MAX {
                    let (node, reason, message) = (node.to_owned(), reason.to_owned(), message.to_owned());
                    self.failures.push(NodeFailure { node, reason, message });
                }
            }
        }
    }

    /// Whether nothing is pending, and all failures require operator action.
    pub fn needs_operator(&self) -> bool {
        self.pending == 0 && self.failed > 0 && self.terminal == self.failed
    }

    /// Whether another network has the bridge on every reachable node.
    pub fn is_conflict_everywhere(&self) -> bool {
        self.conflicts > 0 && self.conflicts == self.selected - self.unreachable
    }

    /// Whether another network has the bridge on every node where the network failed.
    pub fn has_conflicts_only(&self) -> bool {
        self.conflicts > 0 && self.conflicts == self.failed
    }

    /// The counts for the status of the network.
    pub fn counts(&self) -> NodeCounts {
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        NodeCounts {
            selected: count(self.selected),
            programmed: count(self.programmed),
            failed: count(self.failed),
            unreachable: count(self.unreachable),
            summary: format!("{}/{}", self.programmed, self.selected),
        }
    }
}

impl<'a> FromIterator<(&'a str, NodeProgress<'a>)> for Tally {
    fn from_iter<I: IntoIterator<Item = (&'a str, NodeProgress<'a>)>>(nodes: I) -> Self {
        let mut tally = Self::default();
        nodes.into_iter().for_each(|(node, progress)| tally.add(node, progress));
        tally
    }
}
