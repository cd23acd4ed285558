//! `usnet node bridge`: the bridge of a network as the engine has it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::IpAddr;
use usnet_planner::model::learned_mac::LearnedMac;
use usnet_planner::model::port_counters::PortCounters;

/// The bridge of a network on this node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BridgeFacts {
    /// Whether the node selected the network.
    pub is_selected: bool,
    /// Whether the engine has its bridge.
    pub has_bridge: bool,
    /// The name of the bridge in the engine.
    pub bridge: String,
    /// The uplink that connects it with other nodes; none if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink: Option<String>,
    /// The overlay that does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay: Option<Overlay>,
    /// The attachments of the network.
    pub ports: Vec<PortFacts>,
    /// The addresses that the bridge has learned.
    pub macs: Vec<LearnedMac>,
    /// Why the engine could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

/// What the node knows of an overlay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Overlay {
    /// The address from which it sends.
    pub local: IpAddr,
    /// It sends to a multicast group, and knows no peers.
    pub is_multicast: bool,
    /// The other nodes.
    pub peers: BTreeSet<IpAddr>,
}

/// An attachment and its port.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PortFacts {
    /// The pod, as namespace and name.
    pub pod: String,
    /// The interface in the pod.
    pub interface: String,
    /// The name of the port.
    pub name: String,
    /// ADD has answered.
    pub is_attached: bool,
    /// The engine has the port on the bridge.
    pub is_there: bool,
    /// The pod's program is at the other end; of a veth always.
    pub is_connected: bool,
    /// Why the engine does not run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Its VLANs as the engine has them.
    pub vlan: String,
    /// Its VLANs as they should be.
    pub recorded_vlan: String,
    /// Its MTU as the engine has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<i64>,
    /// Its MAC address.
    pub mac: String,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// What the engine counted, at the end of the interval.
    pub counters: PortCounters,
    /// And at its beginning.
    pub counters_before: PortCounters,
}
