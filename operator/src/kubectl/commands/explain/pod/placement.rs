//! Causes of an interface whose node does not have the network.

use super::context::Context;
use crate::controller::status::tally::NodeProgress;
use crate::kubectl::commands::explain::finding::Finding;
use crate::kubectl::commands::explain::remedy::remedy;
use crate::kubectl::model::Part;
use usnet_crds::conditions::reason::NEVER_SEEN;
use usnet_crds::conditions::{Status, engine_connected, find};
use usnet_crds::device::resource_name;
use usnet_crds::node_selection::unmet_requirement;

/// No node has a free device of the network.
pub(super) fn resource(context: &Context<'_>) -> Option<Finding> {
    let (valid, message) = (context.valid()?, context.pod.unscheduled.as_ref()?);
    let resource = resource_name(&valid.name);
    let is_it = context.pod.resources.contains(&resource) && message.contains(&resource);
    let why = format!("no node has a free {resource}: {message}");
    let remedy = "raise spec.devicePlugin.devices of the network, end other pods, or extend the network to more nodes; kubectl describe node shows what is allocated";
    is_it.then(|| Finding::new("NoFreeDevice", why, remedy))
}

/// The node of the pod is not one of the network.
pub(super) fn node_not_selected(context: &Context<'_>) -> Option<Finding> {
    let (node, selection) = (context.pod.node.as_deref()?, context.selection()?);
    if context.place.is_some_and(|place| place.progress.is_some()) {
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

/// The engine of the network is not there.
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
        false => ("EngineUnreachable", remedy(&condition.reason).to_owned()),
    };
    Some(Finding::new(cause, format!("{engine} on node {node}: {}", condition.message), remedy))
}

/// The engine of a running pod is gone: its interface is attached and carries nothing.
pub(super) fn engine_of_attached(context: &Context<'_>) -> Option<Finding> {
    engine(context).map(|found| found.of(context.subject()))
}

/// The node cannot carry the network.
pub(super) fn network_failed(context: &Context<'_>) -> Option<Finding> {
    let Some(NodeProgress::Failed { reason, message }) = context.place?.progress else { return None };
    let node = context.pod.node.as_deref()?;
    Some(Finding::new(
        reason,
        format!("network {} on node {node}: {message}", context.network.as_deref()?),
        remedy(reason),
    ))
}

/// No agent programs the node.
pub(super) fn agent(context: &Context<'_>) -> Option<Finding> {
    let node = context.pod.node.as_deref().filter(|_| context.snapshot.knows(Part::UsnetPods))?;
    let why = match context.snapshot.agent(node) {
        None => format!("node {node} has no agent of usnet"),
        Some(agent) if !agent.is_ready => format!("the agent of node {node} is not ready ({})", agent.state()),
        Some(_) => return None,
    };
    Some(Finding::new("NoAgent", why, format!("kubectl usnet explain node {node}")))
}

/// The node has not programmed the network yet.
pub(super) fn pending(context: &Context<'_>) -> Option<Finding> {
    let (node, place) = (context.pod.node.as_deref()?, context.place?);
    let (cause, why) = match place.progress? {
        NodeProgress::Unreachable if context.snapshot.knows(Part::Nodes) => {
            ("NodeNotReady", "the node is NotReady".to_owned())
        }
        NodeProgress::Pending => ("NetworkPending", place.state(context.snapshot).1),
        _ => return None,
    };
    let why = format!("network {} is not programmed on node {node} yet. {why}", context.network.as_deref()?);
    Some(Finding::new(cause, why.trim().to_owned(), format!("wait; if it stays: kubectl usnet explain node {node}")))
}
