//! Messages about an attachment: the controller's, and those of the agent of its node.

use crate::NetworkName;
use std::fmt::Display;

/// The pod does not exist.
pub fn pod_not_found(pod: &dyn Display) -> String {
    format!("there is no pod {pod}: it is looked for again; correct spec.pod, or create it")
}

/// The pod of the attachment is gone, and another one has its name.
pub fn pod_replaced(pod: &dyn Display) -> String {
    format!("the pod {pod} that this attachment was for is gone: create an attachment for the pod that replaced it")
}

/// The pod has ended.
pub fn pod_ended(pod: &dyn Display) -> String {
    format!("the pod {pod} has ended or is being deleted: attach to a running pod")
}

/// The pod has no network namespace of its own.
pub fn host_network(pod: &dyn Display) -> String {
    format!("the pod {pod} has hostNetwork: true, and no interfaces of its own: use a pod without it")
}

/// The pod has no node.
pub fn pod_not_scheduled(pod: &dyn Display) -> String {
    format!("the pod {pod} has no node yet: see its events")
}

/// The node of the pod is not known to usnet.
pub fn no_node_state(node: &str) -> String {
    format!("node {node} has no UserspaceNodeState yet")
}

/// No agent has ever reported on the node of the pod.
pub fn no_agent(node: &str) -> String {
    format!("no agent has reported on node {node}: is usnet's agent running there?")
}

/// There is no such network.
pub fn network_unknown(network: &NetworkName) -> String {
    format!("there is no UserspaceNetwork {network}: correct spec.network, or create it")
}

/// Another attachment has the interface.
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

/// The node has no places left.
pub fn node_is_full(node: &str, most: usize) -> String {
    format!("all {most} places for attachments on node {node} are taken: use a pod on another node")
}

/// It is requested of the node.
pub fn attaching(node: &str, is_ready: bool) -> String {
    match is_ready {
        true => format!("waiting for the agent of node {node}"),
        false => format!("waiting for the agent of node {node}, which is not ready"),
    }
}

/// The interface is there.
pub fn attached(node: &str) -> String {
    format!("attached on node {node}")
}

/// What the agent of the node reports.
pub fn failed(node: &str, why: &str) -> String {
    format!("node {node}: {why}")
}

/// The interface is being removed.
pub fn detaching(node: &str) -> String {
    format!("waiting for node {node} to detach the interface")
}

/// The agent knows no network namespace of the pod.
pub const NO_SANDBOX: &str = "the network namespace of the pod is not known: it is once the pod has started, if the pod has another interface of usnet, or if the container runtime calls usnet for each pod (docs/hot-plug.md)";

/// The agent knows several network namespaces of the pod.
pub const TWO_SANDBOXES: &str =
    "the pod has two sandboxes, because its first one is being replaced: it is attached once one of them is gone";
