//! UserspaceEngines that select a node: what their controller says of it, and how an administrator
//! has to prepare it.

use crate::commands::explain::finding::Finding;
use crate::commands::explain::remedy::remedy_for;
use crate::model::engine::OnNode;
use crate::model::{Engine, Snapshot};
use usnet_crds::EngineKind;
use usnet_crds::conditions::reason::{ENGINE_FOREIGN, NODE_TAKEN};
use usnet_crds::conditions::{Status, engine_connected, find};
use usnet_crds::uplink::report::UplinkState;
use usnet_crds::userspace_engine::preparation::needs::{EngineOnNode, Needs, REASONS};
use usnet_crds::userspace_engine::preparation::{NodeFacts, Step, steps};

/// Returns the objects that select a node, by name.
fn selecting<'a>(snapshot: &'a Snapshot, node: &str) -> impl Iterator<Item = (&'a String, &'a Engine)> {
    let labels = snapshot.cache.nodes.get(node).map(|node| &node.labels);
    let engines = snapshot.engines.iter().filter(|(_, engine)| !engine.is_deleting);
    engines.filter(move |(_, engine)| labels.is_some_and(|labels| engine.selects(labels)))
}

/// Returns the object that is to run an engine on a node.
pub(super) fn object_of<'a>(snapshot: &'a Snapshot, node: &str, kind: EngineKind) -> Option<&'a String> {
    selecting(snapshot, node).find(|(_, engine)| engine.spec.engine == kind).map(|(name, _)| name)
}

/// Returns the problems that the controller of engines reports, with their engines.
pub(super) fn problems(snapshot: &Snapshot, node: &str) -> Vec<(EngineKind, Finding)> {
    let problem = |(name, engine): (&String, &Engine)| {
        let found = engine.status.problems.iter().find(|problem| problem.node == node)?;
        let kind = engine.spec.engine;
        let mut remedy = remedy_for(&found.reason, kind).to_owned();
        if REASONS.contains(&found.reason.as_str()) {
            remedy.push_str("; the commands are below");
        }
        let finding = Finding::new(&found.reason, found.message.clone(), remedy);
        Some((kind, finding.of(format!("{kind} of UserspaceEngine {name}"))))
    };
    selecting(snapshot, node).filter_map(problem).collect()
}

/// Returns what an administrator has to do on the node.
pub(super) fn preparation(snapshot: &Snapshot, node: &str) -> Vec<Step> {
    let unknown = || NodeFacts { name: node.to_owned(), ..NodeFacts::default() };
    let facts = snapshot.node_facts.clone().unwrap_or_else(unknown);
    let on_node = |(_, engine): (&String, &'_ Engine)| {
        let is_running = match engine.on_node(node, snapshot.reports.get(node)) {
            OnNode::Running => engine.is_up_to_date(),
            // Another engine has the node.
            OnNode::Failed { reason, .. } if [ENGINE_FOREIGN, NODE_TAKEN].contains(&reason.as_str()) => return None,
            OnNode::Failed { .. } | OnNode::Starting | OnNode::Unknown => false,
        };
        Some((engine.valid.clone().ok()?, is_running))
    };
    let engines: Vec<_> = selecting(snapshot, node).filter_map(on_node).collect();
    let engines: Vec<_> =
        engines.iter().map(|(spec, is_running)| EngineOnNode { spec, is_running: *is_running }).collect();
    steps(&Needs::of(&engines, &reasons(snapshot, node), &facts), &facts)
}

/// Returns the reasons that the agent of the node and the controller of engines report.
fn reasons<'a>(snapshot: &'a Snapshot, node: &str) -> Vec<&'a str> {
    let mut reasons = Vec::new();
    if let Some(status) = snapshot.reports.get(node) {
        let connected = EngineKind::ALL.into_iter().filter_map(|kind| find(&status.conditions, engine_connected(kind)));
        let down = connected.filter(|condition| condition.status == Status::False.as_str());
        reasons.extend(down.map(|condition| condition.reason.as_str()));
        let failed = status.uplinks.iter().filter(|uplink| uplink.state == UplinkState::Failed);
        reasons.extend(failed.map(|uplink| uplink.reason.as_str()));
    }
    for (_, engine) in selecting(snapshot, node) {
        let on_node = engine.status.problems.iter().filter(|problem| problem.node == node);
        reasons.extend(on_node.map(|problem| problem.reason.as_str()));
    }
    reasons
}
