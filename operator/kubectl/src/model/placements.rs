//! The nodes of a network and the progress of each, by the functions of the controller.

use super::snapshot::{Objects, Snapshot};
use std::collections::BTreeSet;
use usnet_controller::status::selected_nodes::{NodeView, SelectedNodes};
use usnet_controller::status::tally::NodeProgress;
use usnet_crds::node_state::{DegradedAttachment, NetworkReport};

/// A network on one node that it selects, or that still has pods on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Placement<'a> {
    pub node: &'a str,
    /// `None` on a node that the network does not select.
    pub progress: Option<NodeProgress<'a>>,
    /// The agent's report of the network.
    pub report: Option<&'a NetworkReport>,
}

/// Returns the placements of a network, sorted by node.
pub(crate) fn placements<'a>(snapshot: &'a Snapshot, network: &str) -> Vec<Placement<'a>> {
    let cache = &snapshot.cache;
    let compiled = cache.compiled.get(network).and_then(|compiled| Some((compiled, compiled.selection.as_ref()?)));
    let mut nodes = SelectedNodes::new(cache);
    let selected = compiled.map(|(_, selection)| nodes.of(selection));
    let selected: BTreeSet<&str> = selected.iter().flat_map(|all| all.iter()).map(|view| view.name).collect();
    let placement = |view: &NodeView<'a>| {
        let progress = compiled
            .filter(|_| selected.contains(view.name))
            .map(|(compiled, selection)| NodeProgress::of(*view, network, compiled.version, selection));
        let report = view.state.and_then(|state| state.report(network));
        let is_placement = progress.is_some() || report.is_some();
        is_placement.then_some(Placement { node: view.name, progress, report })
    };
    nodes.all().iter().filter_map(placement).collect()
}

impl Placement<'_> {
    /// Returns the progress as one word, and its reason.
    pub(crate) fn state(&self, snapshot: &Snapshot) -> (&'static str, String) {
        match self.progress {
            None => ("NotSelected", "pods that use it keep it until they end".to_owned()),
            // Without the Node objects their readiness is unknown.
            Some(NodeProgress::Unreachable) if snapshot.has_read(Objects::Nodes) => {
                ("Unreachable", "the node is NotReady".to_owned())
            }
            Some(NodeProgress::Unreachable | NodeProgress::Pending) => {
                let report = self.report.filter(|report| !report.reason.is_empty());
                ("Pending", report.map(|report| format!("{}: {}", report.reason, report.message)).unwrap_or_default())
            }
            Some(NodeProgress::Programmed) => ("Programmed", String::new()),
            Some(NodeProgress::Failed { reason, message }) => ("Failed", format!("{reason}: {message}")),
        }
    }

    /// Returns the attachment of this interface if it has a problem.
    pub(crate) fn degraded(&self, uid: &str, interface: &str) -> Option<&DegradedAttachment> {
        let degraded = self.report?.degraded.iter();
        degraded.into_iter().find(|entry| entry.uid == uid && entry.interface == interface)
    }
}
