//! The types of conditions. `docs/reference.md` has their doc comments.

use crate::EngineKind;

/// Network: all is as the spec asks. Node: its agent and its engines work.
pub const READY: &str = "Ready";
/// Network: the spec is valid and conflicts with nothing.
pub const ACCEPTED: &str = "Accepted";
/// Network: its NetworkAttachmentDefinitions are in every selected namespace.
pub const DEFINITIONS_READY: &str = "DefinitionsReady";
/// Network: every selected node that is reachable carries it.
pub const PROGRAMMED: &str = "Programmed";
/// Network, only while true: work is in progress (kstatus).
pub const RECONCILING: &str = "Reconciling";
/// Network, only while true: it needs action by an operator (kstatus).
pub const STALLED: &str = "Stalled";
/// Uplink, only while true: on some node, members of its bond carry no frames.
pub const DEGRADED: &str = "Degraded";
/// Engine: no node has to be restarted for the current spec.
pub const UPDATED: &str = "Updated";
/// Network, only while true: it is being deleted, and pods still use it.
pub const DELETION_BLOCKED: &str = "DeletionBlocked";
/// Node: every network and uplink that selects it is programmed there.
pub const NETWORKS_PROGRAMMED: &str = "NetworksProgrammed";
/// Node: the agent is connected to Open vSwitch.
pub const OVS_CONNECTED: &str = engine_connected(EngineKind::OpenVswitch);
/// Node: the agent is connected to VPP.
pub const VPP_CONNECTED: &str = engine_connected(EngineKind::Vpp);
/// Node, only while false: its agent serves metrics, probes and traffic where it should.
pub const METRICS_SERVED: &str = "MetricsServed";
/// Node, only while false: configurations of the Userspace CNI (Intel) in its files can be used.
pub const CONFIGURATIONS_ACCEPTED: &str = "ConfigurationsAccepted";
/// Node without an API server: every file in its folder of manifests can be used.
pub const MANIFESTS_ACCEPTED: &str = "ManifestsAccepted";

/// The condition of a node that tells whether its agent is connected to this engine.
pub const fn engine_connected(engine: EngineKind) -> &'static str {
    engine.traits().connected_condition
}
