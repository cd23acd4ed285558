//! Messages about an attachment: the controller's, and those of the agent of its node.

use crate::NetworkName;
use std::fmt::Display;

pub fn pod_not_found(pod: &dyn Display) -> String {
    format!("there is no pod {pod}: usnet looks for it again; create it, or correct spec.pod")
}

/// The pod of the attachment is gone, and another one has its name.
pub fn pod_replaced(pod: &dyn Display) -> String {
    format!("the pod {pod} of this attachment no longer exists: create an attachment for the pod that replaced it")
}

pub fn pod_ended(pod: &dyn Display) -> String {
    format!("the pod {pod} has ended or is being deleted: attach to a running pod")
}

pub fn host_network(pod: &dyn Display) -> String {
    format!("the pod {pod} has hostNetwork: true, and no interfaces of its own: use a pod without it")
}

pub fn pod_not_scheduled(pod: &dyn Display) -> String {
    format!("the pod {pod} has no node yet: see its events")
}

pub fn no_node_state(node: &str) -> String {
    format!("node {node} has no UserspaceNodeState yet")
}

pub fn no_agent(node: &str) -> String {
    format!("no agent has reported on node {node}: is usnet's agent running there?")
}

pub fn network_unknown(network: &NetworkName) -> String {
    format!("there is no UserspaceNetwork {network}: correct spec.network, or create it")
}

pub fn taken(pod: &str, interface: &str, other: &str) -> String {
    format!("UserspaceAttachment {other} has interface {interface} of pod {pod}: use another name in spec.interface")
}

/// The namespace has its share of the places of the node. Neither numbers nor other namespaces are
/// in the message: with each attachment of others, it would change for all that wait.
pub fn namespace_has_share(node: &str, namespace: &str, most: usize) -> String {
    format!(
        "namespace {namespace} has its share of the {most} places for attachments on node {node}, half of what other namespaces leave: delete some, or use a pod on another node"
    )
}

pub fn node_is_full(node: &str, most: usize) -> String {
    format!("all {most} places for attachments on node {node} are taken: use a pod on another node")
}

pub fn attaching(node: &str, is_ready: bool) -> String {
    match is_ready {
        true => format!("waiting for the agent of node {node}"),
        false => format!("waiting for the agent of node {node}, which is not ready"),
    }
}

pub fn attached(node: &str) -> String {
    format!("attached on node {node}")
}

pub fn failed(node: &str, why: &str) -> String {
    format!("node {node}: {why}")
}

pub fn detaching(node: &str) -> String {
    format!("waiting for node {node} to detach the interface")
}

pub const NO_SANDBOX: &str = "the network namespace of the pod is not known yet: usnet learns it when the pod starts, if the pod has another interface of usnet, or if the container runtime calls usnet for each pod (docs/hot-plug.md)";

pub const TWO_SANDBOXES: &str =
    "the pod has two sandboxes, because its first one is being replaced: it is attached once one of them is gone";
