//! Messages about the node itself in a network, which the agent writes.

use crate::{InterfaceAddress, NetworkName};
use std::fmt::Display;

pub const PENDING: &str = "the node's own device in the network is being created on this node";

pub const MISSING_PRIVILEGE: &str = "the agent may not create devices on this node: nodeAccess needs the node's network namespace (hostNetwork: true) and CAP_NET_ADMIN, which config/overlays/node-local does not give the agent; install config/default, or remove spec.nodeAccess of the network";

pub fn exhausted(addresses: &[InterfaceAddress], number: u32) -> String {
    let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    format!(
        "this node has the number {number}, and the subnet has no address {number} places after {} of spec.nodeAccess: use a larger subnet or an earlier address, or exclude the node with spec.nodeSelector",
        addresses.join(" or ")
    )
}

pub fn subnet_routed(subnet: &dyn Display, destination: &dyn Display, device: &str) -> String {
    format!(
        "this node reaches {destination} over {device}, and would lose a part of it to {subnet} of spec.nodeAccess: use another subnet, or exclude the node with spec.nodeSelector"
    )
}

pub fn subnet_of_network(subnet: &dyn Display, network: &NetworkName) -> String {
    format!(
        "this node is in network {network} too, whose subnet overlaps {subnet} of spec.nodeAccess: use other subnets, or exclude the node with spec.nodeSelector of one of the two"
    )
}

pub fn failed(device: &dyn Display, problem: &dyn Display) -> String {
    format!("device {device}, by which the node is in the network: {problem}")
}

pub fn unprotected(problem: &str) -> String {
    format!(
        "the agent cannot make the rules (nftables, table inet usnet-node-access) that keep pods from connections to this node: {problem}; new devices of the node in networks are not created"
    )
}
