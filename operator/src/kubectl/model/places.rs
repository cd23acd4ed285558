//! Which nodes have a network, and how far they are: by the functions of the controller.

use super::snapshot::{Part, Snapshot};
use crate::controller::status::selected_nodes::{NodeView, SelectedNodes};
use crate::controller::status::tally::NodeProgress;
use std::collections::BTreeSet;
use usnet_crds::node_state::{DegradedAttachment, NetworkReport};

/// A network on one node that it selects, or that still has pods of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place<'a> {
    /// The node.
    pub node: &'a str,
    /// How far it is; none on a node that the network does not select.
    pub progress: Option<NodeProgress<'a>>,
    /// What the agent reports of it.
    pub report: Option<&'a NetworkReport>,
}

/// The nodes of a network, sorted by name.
pub(crate) fn places<'a>(snapshot: &'a Snapshot, network: &str) -> Vec<Place<'a>> {
    let cache = &snapshot.cache;
    let compiled = cache.compiled.get(network).and_then(|compiled| Some((compiled, compiled.selection.as_ref()?)));
    let mut nodes = SelectedNodes::new(cache);
    let selected = compiled.map(|(_, selection)| nodes.of(selection));
    let selected: BTreeSet<&str> = selected.iter().flat_map(|all| all.iter()).map(|view| view.name).collect();
    let place = |view: &NodeView<'a>| {
        let progress = compiled
            .filter(|_| selected.contains(view.name))
            .map(|(compiled, selection)| NodeProgress::of(*view, network, compiled.version, selection));
        let report = view.state.and_then(|state| state.report(network));
        let is_place = progress.is_some() || report.is_some();
        is_place.then_some(Place { node: view.name, progress, report })
    };
    nodes.all().iter().filter_map(place).collect()
}

impl Place<'_> {
    /// The progress in one word, and why.
    pub(crate) fn state(&self, snapshot: &Snapshot) -> (&'static str, String) {
        match self.progress {
            None => ("NotSelected", "its pods stay until they end".to_owned()),
            // Without Nodes nothing is known of their readiness.
            Some(NodeProgress::Unreachable) if snapshot.knows(Part::Nodes) => {
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

    /// The attachment of this interface, if it has a problem of its own.
    pub(crate) fn degraded(&self, uid: &str, interface: &str) -> Option<&DegradedAttachment> {
        let degraded = self.report?.degraded.iter();
        degraded.into_iter().find(|entry| entry.uid == uid && entry.interface == interface)
    }
}
