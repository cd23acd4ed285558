//! Messages of the conditions of a network, which the controller writes.

use super::count;
use crate::network::FORCE_DELETE;
use crate::{UdpPort, Vni};
use std::collections::BTreeSet;
use std::fmt;

/// Accepted is True.
pub const SPEC_VALID: &str = "the spec breaks no rule and conflicts with nothing";
/// Accepted is True, and pods of two nodes can have one address.
pub const ADDRESSES_NOT_UNIQUE: &str = "the spec breaks no rule and conflicts with nothing. Warning: spec.ipam host-local counts on each node by itself, so that pods of two nodes get the same address. That is harmless only while the bridges of the nodes are not connected; otherwise use an IPAM plugin with one pool for all nodes, such as whereabouts, or spec.ipam.nodePrefix, with which each node has its own part";
/// Accepted is True, and other networks that adopt the same bridge are refused on nodes.
pub fn rivals_refused(names: &[&str]) -> String {
    format!(
        "the spec breaks no rule. Warning: others adopt the same bridge, are not separated from this network by VLANs, and are refused with BridgeConflict: {}; set spec.port.vlan in all of them, each to VLANs of its own, or delete some",
        names.join(", ")
    )
}

/// Accepted is False: pods on two nodes that are connected could have one address.
pub const ADDRESSES_OF_CONNECTED_NODES: &str = "spec.ipam: host-local counts on each node by itself, and spec.topology connects the nodes, so that two pods would have one address: set spec.ipam.nodePrefix, with which each node has its own part of the ranges, or use an IPAM plugin with one pool for all nodes, such as whereabouts or dhcp, or no ipam and addresses in spec.attachments";
/// Accepted is False, and the conditions after it are Unknown.
pub const NOT_EVALUATED: &str = "not evaluated while the network is rejected";
/// The condition has the message of Ready.
pub const SEE_READY: &str = "see Ready";
pub const NADS_OF_USERS: &str = "it was created from NetworkAttachmentDefinitions of users and creates none of its own";
pub const NADS_READING: &str = "NetworkAttachmentDefinitions are being read";
pub const NADS_UNAVAILABLE: &str = "NetworkAttachmentDefinitions cannot be read: install Multus, whose CRD they need";
pub const NODES_OUTDATED: &str = "the network has not been sent to the nodes yet";
pub const NO_NODES: &str = "no node is selected";
/// Most namespaces in one message.
pub const NAMESPACES_MAX: usize = 10;
/// Most namespaces that refuse a definition in one message.
pub const REFUSING_MAX: usize = 5;
/// Most pods in one message.
const PODS_MAX: usize = 10;

/// Accepted is False: another network has the bridge on every node.
pub fn conflict_everywhere(message: &str, first_node: &str) -> String {
    format!("{message} (on every node, first {first_node})")
}

/// Accepted is False: another network has the VNI.
pub fn vni_taken(vni: Vni, port: UdpPort, holder: &str) -> String {
    format!(
        "spec.topology.overlay.vni: VNI {vni} at UDP port {port} already belongs to network {holder}: leave vni out or choose another, or delete network {holder}; two networks are one segment only if their engines differ and both set vni"
    )
}

/// This is appended while the network that has something is being deleted.
pub fn waits_for(holder: &str) -> String {
    format!(". Network {holder} is being deleted: this network gets it afterwards")
}

/// Accepted is False: the overlay has more nodes than can send to each other one by one.
pub fn multicast_group_required(nodes: usize, maximum: usize) -> String {
    format!(
        "spec.topology.overlay.multicastGroup: the overlay has {nodes} nodes, and with more than {maximum} each broadcast would be sent too often: set a multicast address that the network between the nodes forwards, or select fewer nodes"
    )
}

/// Accepted is False: the overlay has more nodes than can send to each other one by one, and its
/// engine has no multicast groups.
pub fn too_many_nodes(nodes: usize, maximum: usize) -> String {
    format!(
        "spec.topology.overlay.encapsulation: the overlay has {nodes} nodes, and with more than {maximum} each broadcast would be sent too often: select fewer nodes, or use the encapsulation Kernel with a multicastGroup"
    )
}

/// The namespaces that have the NetworkAttachmentDefinition of a network.
#[derive(Debug, Clone, Copy)]
pub struct NadCounts {
    /// The namespaces that have it.
    pub present: usize,
    /// The namespaces that should have it.
    pub desired: usize,
}

impl fmt::Display for NadCounts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.desired == 1 { "has" } else { "have" };
        write!(formatter, "{} of {} {verb} the definition", self.present, count(self.desired, "namespace"))
    }
}

/// DefinitionsReady is True. The message says which namespaces have the definition and how others
/// get it: a user who forgot to label a namespace sees nothing of usnet, only that Multus finds no
/// definition there.
pub fn definitions_ready(counts: NadCounts, selector: Option<&str>, namespaces: &[String]) -> String {
    let Some(selector) = selector else { return counts.to_string() };
    let more = if counts.desired > namespaces.len() { " and others" } else { "" };
    let named = match namespaces {
        [] => String::new(),
        some => format!(": {}{more}", some.join(", ")),
    };
    format!("{counts}{named}; a namespace gets it by labels that namespaceSelector requires: {selector}")
}

/// DefinitionsReady is False: `conflicts` namespaces have a NetworkAttachmentDefinition of this
/// name that usnet does not own.
pub fn nad_conflict(counts: NadCounts, network: &str, first_namespace: &str, conflicts: usize) -> String {
    let more = match conflicts {
        0 | 1 => String::new(),
        all => format!(" (and so in {} more)", count(all - 1, "namespace")),
    };
    format!(
        "{counts}; NetworkAttachmentDefinition {first_namespace}/{network} is not owned by usnet{more}: rename or delete it, or exclude its namespace by the namespaceSelector"
    )
}

/// Namespaces that refuse a definition.
#[derive(Debug, Clone, Copy)]
pub struct Refusals<'a> {
    /// The first of them, at most [`REFUSING_MAX`].
    pub named: &'a [String],
    /// The number of all.
    pub all: usize,
    /// What the API server said about the first.
    pub words: &'a str,
}

pub fn definition_refused(counts: NadCounts, network: &str, refusals: Refusals<'_>) -> String {
    let Refusals { named, all, words } = refusals;
    let names = named.join(", ");
    let who = match (all, all.saturating_sub(named.len())) {
        (0 | 1, _) => format!("namespace {names} refuses NetworkAttachmentDefinition {network}"),
        (_, 0) => format!("namespaces {names} refuse NetworkAttachmentDefinition {network}, the first"),
        (_, more) => {
            format!("namespaces {names} and {more} more refuse NetworkAttachmentDefinition {network}, the first")
        }
    };
    format!("{counts}; {who}: {words}; it is tried again at most 30 s apart")
}

/// How many nodes have a network.
#[derive(Debug, Clone, Copy)]
pub struct NodeProgress {
    /// The nodes that carry it.
    pub programmed: usize,
    /// The nodes that should carry it.
    pub selected: usize,
    /// The nodes that Kubernetes calls NotReady.
    pub unreachable: usize,
}

impl fmt::Display for NodeProgress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "programmed on {} of {}", self.programmed, count(self.selected, "node"))?;
        match self.unreachable {
            0 => Ok(()),
            unreachable => write!(formatter, "; {unreachable} NotReady"),
        }
    }
}

pub fn node_failed(progress: NodeProgress, node: &str, reason: &str, message: &str) -> String {
    format!("{progress}; node {node}: {reason}: {message}")
}

pub fn nodes_pending(progress: NodeProgress, pending: usize, first: &str) -> String {
    format!("{progress}; waiting for {}, first {first}", count(pending, "node"))
}

/// DeletionBlocked is True: pods use the network.
pub fn in_use(interfaces: usize, nodes: usize, pods: &BTreeSet<String>) -> String {
    let named: Vec<&str> = pods.iter().take(PODS_MAX).map(String::as_str).collect();
    let more = if pods.len() > named.len() { " and others" } else { "" };
    let (interfaces, nodes) = (count(interfaces, "interface"), count(nodes, "node"));
    format!("{interfaces} of pods on {nodes} still use it: {}{more}; delete these pods", named.join(", "))
}

/// DeletionBlocked is True: nodes cannot remove the bridge, the first of them for this reason.
pub fn bridge_blocked(nodes: usize, first: &str, blocker: &str) -> String {
    format!("{} cannot remove the bridge, first {first}: {blocker}", count(nodes, "node"))
}

/// The network is being deleted, and no node knows it yet.
pub const WAITING_FOR_DRAIN: &str = "nodes do not know yet that the network is being deleted";

/// Reconciling is True: nodes still have a network that is being deleted.
pub fn waiting_for_removal(nodes: usize, first: &str) -> String {
    format!("waiting for {} to remove the network, first {first}", count(nodes, "node"))
}

/// This is appended if the annotation that forces the deletion has the wrong value.
pub fn force_ignored(value: &str) -> String {
    format!("; annotation {FORCE_DELETE} is ignored: its value {value:?} is not the name of this network")
}
