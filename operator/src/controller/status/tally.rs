//! How far a network is on the nodes that it selects.

use super::selected_nodes::{NodeView, SelectedNodes};
use crate::controller::cache::Compiled;
use crate::controller::cache::objects::Selection;
use usnet_crds::conditions::reason::{
    BRIDGE_CONFLICT, BRIDGE_EXISTS, BRIDGE_MISSING, BRIDGE_UNUSABLE, ENGINE_UNREACHABLE,
};
use usnet_crds::network::{FAILURES_MAX, NodeCounts, NodeFailure};
use usnet_crds::node_state::NetworkState;

/// Reasons that waiting does not resolve.
const TERMINAL_REASONS: [&str; 4] = [BRIDGE_CONFLICT, BRIDGE_EXISTS, BRIDGE_MISSING, BRIDGE_UNUSABLE];

/// How far a network is on one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeProgress<'a> {
    /// Kubernetes calls the node NotReady.
    Unreachable,
    /// Not yet.
    Pending,
    /// The engine was read again after the last change and has it.
    Programmed,
    /// It cannot be.
    Failed {
        /// In one word.
        reason: &'a str,
        /// For users.
        message: &'a str,
    },
}

impl<'a> NodeProgress<'a> {
    /// Of the network compiled as `version`, on a node that it selects.
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

/// The nodes of one network, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Nodes that should carry it.
    pub selected: usize,
    /// Nodes that do.
    pub programmed: usize,
    /// Nodes that are NotReady.
    pub unreachable: usize,
    /// Nodes that are still at work.
    pub pending: usize,
    /// The first of them by name.
    pub first_pending: Option<String>,
    /// Nodes that cannot.
    pub failed: usize,
    /// Those of them that a status has room for, sorted by name.
    pub failures: Vec<NodeFailure>,
    /// Of the nodes that cannot, those that need an operator.
    terminal: usize,
    /// Of the nodes that cannot, those where another network has the bridge.
    conflicts: usize,
    /// Attached interfaces of pods.
    pub attachments: i64,
    /// Those of them whose program is connected to the engine.
    pub connected: i64,
    /// Some of the pods are on nodes that are NotReady.
    pub has_unreachable_pods: bool,
}

impl Tally {
    /// Counts the nodes. While the compiled network is outdated no node can have what is asked for.
    pub fn of(nodes: &mut SelectedNodes<'_>, name: &str, compiled: Option<&Compiled>, is_outdated: bool) -> Self {
        let mut tally = Self::default();
        for view in nodes.all() {
            let Some(report) = view.state.and_then(|state| state.report(name)) else { continue };
            tally.attachments = tally.attachments.saturating_add(report.attachments);
            tally.connected = tally.connected.saturating_add(report.connected);
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
                self.terminal += usize::from(TERMINAL_REASONS.contains(&reason));
                self.conflicts += usize::from(reason == BRIDGE_CONFLICT);
                if self.failures.len() < FAILURES_MAX {
                    let (node, reason, message) = (node.to_owned(), reason.to_owned(), message.to_owned());
                    self.failures.push(NodeFailure { node, reason, message });
                }
            }
        }
    }

    /// Nothing goes on, and all failures need an operator.
    pub fn needs_operator(&self) -> bool {
        self.pending == 0 && self.failed > 0 && self.terminal == self.failed
    }

    /// On every node that can be asked another network has the bridge, and nothing is pending.
    pub fn is_conflict_everywhere(&self) -> bool {
        self.conflicts > 0 && self.conflicts == self.selected - self.unreachable
    }

    /// For the status of the network.
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
