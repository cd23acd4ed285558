//! The causes of problems with a UserspaceEngine, those of the whole object first.

use super::nodes::Placement;
use crate::commands::explain::finding::Finding;
use crate::commands::explain::remedy::{remedy, remedy_for};
use crate::commands::shared::join_first;
use crate::model::engine::OnNode;
use crate::model::{Engine, Objects, Snapshot};
use crate::output::count;
use std::collections::BTreeMap;
use usnet_crds::conditions::reason::{ENGINE_STARTING, UPDATE_STOPPED};
use usnet_crds::conditions::{DELETION_BLOCKED, READY, Status, UPDATED};
use usnet_crds::node_selection::selector_text;
use usnet_crds::userspace_engine::preparation::needs;

/// The maximum number of nodes or pods in a sentence.
const NAMED: usize = 10;

pub(crate) fn causes(
    snapshot: &Snapshot,
    (name, engine): (&str, &Engine),
    placements: &[Placement<'_>],
) -> Vec<Finding> {
    let whole = [not_observed(engine), invalid(engine), deletion(engine, placements)];
    let mut found: Vec<Finding> = whole.into_iter().flatten().collect();
    // What the controller said of another spec is outdated.
    if engine.valid.is_err() || !engine.is_observed() {
        return found;
    }
    found.extend(no_node(snapshot, engine, placements));
    found.extend(nodes(engine, placements));
    if !engine.is_deleting {
        found.extend(starting(engine, placements));
        found.extend(update(engine, placements));
        if found.is_empty() {
            found.extend(not_ready(name, engine));
        }
    }
    found
}

fn not_observed(engine: &Engine) -> Option<Finding> {
    let why = match engine.status.observed_generation {
        Some(_) => "the controller of engines has not read the last change",
        None => "no controller of engines has seen it, so that it runs nowhere",
    };
    let remedy = "install config/components/engines (docs/engines.md) if it is not; kubectl get pods -n usnet-engines; kubectl logs -n usnet-engines deployment/usnet-engines";
    (!engine.is_observed()).then(|| Finding::new("NotObserved", why, remedy))
}

fn invalid(engine: &Engine) -> Option<Finding> {
    let problems = engine.valid.as_ref().err()?;
    let why = format!("{problems}; engines that run go on with the spec before it");
    Some(Finding::new("Invalid", why, remedy("Invalid")))
}

/// Names the pods that keep an engine which is to be deleted, on each node.
fn deletion(engine: &Engine, placements: &[Placement<'_>]) -> Option<Finding> {
    let blocked = engine.condition(DELETION_BLOCKED).filter(|_| engine.is_deleting)?;
    let on_node = |placement: &Placement<'_>| {
        let pods: Vec<String> = placement.pods.iter().map(|pod| (*pod).to_owned()).collect();
        format!("on {}: {}", placement.node, join_first(&pods, NAMED))
    };
    let pods: Vec<String> = placements.iter().filter(|placement| !placement.pods.is_empty()).map(on_node).collect();
    let why =
        if pods.is_empty() { blocked.message.clone() } else { format!("pods are attached to it {}", pods.join("; ")) };
    Some(Finding::new(&blocked.reason, why, "delete these pods: the engine ends by itself when the last one is gone"))
}

fn no_node(snapshot: &Snapshot, engine: &Engine, placements: &[Placement<'_>]) -> Option<Finding> {
    if !placements.is_empty() || snapshot.cache.nodes.is_empty() || !snapshot.has_read(Objects::Nodes) {
        return None;
    }
    let selector = selector_text(engine.nodes.as_ref()?);
    let why = format!("its nodeSelector ({selector}) matches no node, so that it runs nowhere");
    let remedy = format!(
        "label a node so that it matches {selector} (kubectl label node NAME KEY=VALUE), or change spec.nodeSelector"
    );
    Some(Finding::new("NoNodeSelected", why, remedy).warning())
}

/// Returns the problems of nodes, grouped by reason and message.
fn nodes(engine: &Engine, placements: &[Placement<'_>]) -> Vec<Finding> {
    let mut failed: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for placement in placements {
        if let OnNode::Failed { reason, message } = &placement.state {
            failed.entry((reason, message)).or_default().push(placement.node.to_owned());
        }
    }
    // The status names the first nodes only.
    let listed =
        engine.status.problems.iter().filter(|it| !placements.iter().any(|placement| placement.node == it.node));
    for problem in listed {
        failed.entry((&problem.reason, &problem.message)).or_default().push(problem.node.clone());
    }
    let finding = |((reason, message), nodes): ((&str, &str), Vec<String>)| {
        let mut remedy = remedy_for(reason, engine.spec.engine).to_owned();
        if let Some(first) = nodes.first().filter(|_| needs::REASONS.contains(&reason)) {
            remedy = format!("{remedy}; kubectl usnet explain node {first} has the commands for it");
        }
        let of = format!("{}: {}", count(nodes.len(), "node"), join_first(&nodes, NAMED));
        Finding::new(reason, message, remedy).of(of)
    };
    failed.into_iter().map(finding).collect()
}

/// Finds nodes whose engine does not run, for no reason that was reported.
fn starting(engine: &Engine, placements: &[Placement<'_>]) -> Option<Finding> {
    let nodes = names(placements, |state| matches!(state, OnNode::Starting | OnNode::Unknown));
    let ready = engine.condition(READY).filter(|ready| ready.status != Status::True.as_str())?;
    let why =
        if ready.reason == ENGINE_STARTING { ready.message.clone() } else { "it does not run there yet".to_owned() };
    let of = format!("{}: {}", count(nodes.len(), "node"), join_first(&nodes, NAMED));
    (!nodes.is_empty()).then(|| Finding::new(ENGINE_STARTING, why, remedy(ENGINE_STARTING)).of(of))
}

/// Says how far an update is, and what it waits for.
fn update(engine: &Engine, placements: &[Placement<'_>]) -> Option<Finding> {
    let updated = engine.condition(UPDATED).filter(|updated| updated.status != Status::True.as_str())?;
    let down = names(placements, |state| *state != OnNode::Running);
    let waits = if down.is_empty() || updated.reason == UPDATE_STOPPED || engine.spec.update.paused {
        String::new()
    } else {
        let (limit, down) = (engine.spec.update.max_unavailable, join_first(&down, NAMED));
        format!(
            "; it goes on when fewer than {limit} (spec.update.maxUnavailable) are without the engine: it does not run on {down}"
        )
    };
    let nodes = &engine.status.nodes;
    let why =
        format!("{} of {} nodes have the current spec: {}{waits}", nodes.updated, nodes.selected, updated.message);
    let found = Finding::new(&updated.reason, why, remedy(&updated.reason));
    Some(found.warning_if(updated.reason != UPDATE_STOPPED))
}

/// What no other cause explains.
fn not_ready(name: &str, engine: &Engine) -> Option<Finding> {
    let ready = engine.condition(READY).filter(|ready| ready.status != Status::True.as_str())?;
    let message =
        if ready.message.is_empty() { format!("see kubectl describe usne {name}") } else { ready.message.clone() };
    Some(Finding::new(&ready.reason, message, remedy(&ready.reason)))
}

fn names(placements: &[Placement<'_>], is_it: impl Fn(&OnNode) -> bool) -> Vec<String> {
    placements.iter().filter(|placement| is_it(&placement.state)).map(|placement| placement.node.to_owned()).collect()
}
