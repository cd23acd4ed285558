//! How the engine of an object is on each node that it selects.

use crate::model::engine::OnNode;
use crate::model::{Engine, Snapshot};
use std::collections::BTreeSet;
use usnet_crds::node_state::NetworkReport;

/// The engine of an object on one node.
#[derive(Debug, Clone)]
pub(super) struct Placement<'a> {
    pub node: &'a str,
    pub state: OnNode,
    /// Interfaces of pods that are attached to it.
    pub interfaces: i64,
    /// Pods of these interfaces, as namespace/name: a node names 10 of each network.
    pub pods: BTreeSet<&'a str>,
    version: &'a str,
}

impl Placement<'_> {
    pub(super) fn row(&self) -> [String; 5] {
        let (state, reason) = match &self.state {
            OnNode::Running => ("Running", String::new()),
            OnNode::Failed { reason, message } => ("Failed", format!("{reason}: {message}")),
            OnNode::Starting => {
                ("Pending", "the engine is being started, or its agent is not connected yet".to_owned())
            }
            OnNode::Unknown => ("Unknown", "the agent of the node has reported nothing".to_owned()),
        };
        [self.node.to_owned(), state.to_owned(), self.interfaces.to_string(), self.version.to_owned(), reason]
    }
}

/// Returns the nodes that the object selects, by name.
pub(super) fn placements<'a>(snapshot: &'a Snapshot, engine: &Engine) -> Vec<Placement<'a>> {
    let selected = snapshot.cache.nodes.iter().filter(|(_, node)| engine.selects(&node.labels));
    selected.map(|(node, _)| placement(snapshot, engine, node)).collect()
}

fn placement<'a>(snapshot: &'a Snapshot, engine: &Engine, node: &'a str) -> Placement<'a> {
    let report = snapshot.reports.get(node);
    let reports = report.into_iter().flat_map(|report| &report.networks);
    let of_engine: Vec<&NetworkReport> =
        reports.filter(|report| is_of_engine(snapshot, engine, &report.name)).collect();
    let version = report.and_then(|report| report.engines.iter().find(|it| it.engine == engine.spec.engine));
    Placement {
        node,
        state: engine.on_node(node, snapshot.reports.get(node)),
        interfaces: of_engine.iter().fold(0, |sum, report| report.attachments.saturating_add(sum)),
        pods: of_engine.iter().flat_map(|report| &report.pods).map(String::as_str).collect(),
        version: version.map(|it| it.version.as_str()).unwrap_or_default(),
    }
}

/// Whether a network is of the engine. One that is gone may be of either, as for the controller.
fn is_of_engine(snapshot: &Snapshot, engine: &Engine, network: &str) -> bool {
    let cache = &snapshot.cache;
    let compiled = cache.compiled.get(network).and_then(|compiled| compiled.selection.as_ref());
    let valid = cache.networks.get(network).and_then(|network| network.spec.as_ref().ok());
    let kind = compiled.map(|selection| selection.engine).or_else(|| valid.map(|valid| valid.engine));
    kind.is_none_or(|kind| kind == engine.spec.engine)
}
