//! `usnet node ports`: the interfaces of pods with their counters.

use serde::{Deserialize, Serialize};
use usnet_crds::EngineKind;
use usnet_planner::model::port_counters::PortCounters;

/// An attached interface with its counters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The interface in the pod.
    pub interface: String,
    /// The network that it is attached to.
    pub network: String,
    /// The engine that has its port.
    pub engine: EngineKind,
    /// `VhostUser`, `Memif` or `Veth`.
    #[serde(rename = "type")]
    pub port_type: String,
    /// The interface's MAC address.
    pub mac: String,
    /// What the engine counts.
    #[serde(flatten)]
    pub counters: PortCounters,
}

/// An engine whose counters could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Which engine.
    pub engine: EngineKind,
    /// Why.
    pub message: String,
}

/// All interfaces of the engines that answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// In the order of namespace, pod and interface, each of which is in it once.
    pub ports: Vec<Port>,
    /// The engines that did not answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
}
