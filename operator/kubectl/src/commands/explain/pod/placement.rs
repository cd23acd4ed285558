//! Causes that concern the network on the node of the pod.

use super::context::Context;
use crate::commands::explain::finding::Finding;
use crate::commands::explain::remedy::remedy_for;
use crate::model::Objects;
use usnet_controller::status::tally::NodeProgress;
use usnet_crds::conditions::reason::NEVER_SEEN;
use usnet_crds::conditions::{Status, engine_connected, find};
use usnet_crds::node_selection::unmet_requirement;

pub(super) fn node_not_selected(context: &Context<'_>) -> Option<Finding> {
    let (node, selection) = (context.pod.node.as_deref()?, context.selection()?);
    if context.placement.is_some_and(|placement| placement.progress.is_some()) {
        return None;
    }
    let labels = &context.snapshot.cache.nodes.get(node)?.labels;
    let unmet = unmet_requirement(selection.nodes.as_ref()?, labels)?;
    let network = context.network.as_deref()?;
    let why = format!("node {node} does not have network {network}: {unmet}");
    let remedy = format!(
        "label node {node}, change spec.nodeSelector of network {network}, or give the pod the same nodeSelector"
    );
    Some(Finding::new("NodeNotSelected", why, remedy))
}

pub(super) fn engine(context: &Context<'_>) -> Option<Finding> {
    let engine = context.valid()?.engine;
    let condition = find(&context.node_status()?.conditions, engine_connected(engine))?;
    if condition.status != Status::False.as_str() {
        return None;
    }
    let node = context.pod.node.as_deref()?;
    let (cause, remedy) = match condition.reason == NEVER_SEEN {
        true => (
            "EngineNeverSeen",
            format!("start {engine} on node {node}, or give the pod a nodeSelector for nodes that have it"),
        ),
        false => ("EngineUnreachable", remedy_for(&condition.reason, engine).to_owned()),
    };
    Some(Finding::new(cause, format!("{engine} on node {node}: {}", condition.message), remedy))
}

/// The engine of a running pod is not connected: the interface is attached but carries no packets.
pub(super) fn engine_of_attached(context: &Context<'_>) -> Option<Finding> {
    engine(context).map(|found| found.of(context.subject()))
}

pub(super) fn network_failed(context: &Context<'_>) -> Option<Finding> {
    let Some(NodeProgress::Failed { reason, message }) = context.placement?.progress else { return None };
    let node = context.pod.node.as_deref()?;
    Some(Finding::new(
        reason,
        format!("network {} on node {node}: {message}", context.network.as_deref()?),
        remedy_for(reason, context.valid()?.engine),
    ))
}

pub(super) fn agent(context: &Context<'_>) -> Option<Finding> {
    let node = context.pod.node.as_deref().filter(|_| context.snapshot.has_read(Objects::UsnetPods))?;
    let why = match context.snapshot.agent(node) {
        None => format!("node {node} has no agent of usnet"),
        Some(agent) if !agent.is_ready => format!("the agent of node {node} is not ready ({})", agent.state()),
        Some(_) => return None,
    };
    Some(Finding::new("NoAgent", why, format!("kubectl usnet explain node {node}")))
}

pub(super) fn pending(context: &Context<'_>) -> Option<Finding> {
    let (node, placement) = (context.pod.node.as_deref()?, context.placement?);
    let (cause, why) = match placement.progress? {
        NodeProgress::Unreachable if context.snapshot.has_read(Objects::Nodes) => {
            ("NodeNotReady", "the node is NotReady".to_owned())
        }
        NodeProgress::Pending => ("NetworkPending", placement.state(context.snapshot).1),
        _ => return None,
    };
    let why = format!("network {} is not programmed on node {node} yet. {why}", context.network.as_deref()?);
    Some(Finding::new(
        cause,
        why.trim().to_owned(),
        format!("wait; if this persists: kubectl usnet explain node {node}"),
    ))
}
