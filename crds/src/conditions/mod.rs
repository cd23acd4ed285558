//! The conditions of all objects: their types, their reasons, and how a new set replaces an old
//! one. Conventions: the Kubernetes API conventions, and kstatus, by which GitOps tools evaluate
//! health.

use crate::EngineKind;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use std::fmt;

/// Network and node: all is as the spec asks.
pub const READY: &str = "Ready";
/// Network: the spec is valid and clashes with nothing.
pub const ACCEPTED: &str = "Accepted";
/// Network: its NetworkAttachmentDefinitions are in every selected namespace.
pub const DEFINITIONS_READY: &str = "DefinitionsReady";
/// Network: every selected node that is reachable carries it.
pub const PROGRAMMED: &str = "Programmed";
/// Network, only while true: work is going on (kstatus).
pub const RECONCILING: &str = "Reconciling";
/// Network, only while true: only a person can mend it (kstatus).
pub const STALLED: &str = "Stalled";
/// Network, only while true: it is being deleted, and pods still use it.
pub const DELETION_BLOCKED: &str = "DeletionBlocked";
/// Node: the agent is connected to Open vSwitch.
pub const OVS_CONNECTED: &str = engine_connected(EngineKind::OpenVswitch);
/// Node: the agent is connected to VPP.
pub const VPP_CONNECTED: &str = engine_connected(EngineKind::Vpp);
/// Node without an API server: every file in its folder of manifests can be used.
pub const MANIFESTS_ACCEPTED: &str = "ManifestsAccepted";

/// The condition of a node that tells whether its agent is connected to this engine.
pub const fn engine_connected(engine: EngineKind) -> &'static str {
    engine.traits().connected_condition
}

/// Reasons, in CamelCase as Kubernetes asks.
pub mod reason {
    /// Accepted: nothing is wrong with the spec.
    pub const VALID: &str = "Valid";
    /// Accepted: a field breaks a rule.
    pub const INVALID: &str = "Invalid";
    /// DefinitionsReady: a NetworkAttachmentDefinition of the network's name is not owned by usnet. Only its namespace is affected.
    pub const NAME_CONFLICT: &str = "NameConflict";
    /// A network on a node, and Accepted where it is so on every node: another network has the same bridge there.
    pub const BRIDGE_CONFLICT: &str = "BridgeConflict";
    /// DefinitionsReady: all are there.
    pub const SYNCED: &str = "Synced";
    /// DefinitionsReady: some are still to be written.
    pub const SYNCING: &str = "Syncing";
    /// DefinitionsReady: NetworkAttachmentDefinitions cannot be read, mostly because Multus is not installed.
    pub const UNAVAILABLE: &str = "Unavailable";
    /// Ready, Programmed: every selected node that is reachable carries the network.
    pub const ALL_NODES: &str = "AllNodes";
    /// Ready, Programmed: no node is selected, so there is nothing to wait for.
    pub const NO_MATCHING_NODES: &str = "NoMatchingNodes";
    /// Programmed: nodes are still at work.
    pub const PENDING: &str = "Pending";
    /// Ready: no controller has seen it yet. The CRD says so, and nobody writes it.
    pub const WAITING_FOR_CONTROLLER: &str = "WaitingForController";
    /// Ready of a node: an engine was not looked at yet.
    pub const STARTING: &str = "Starting";
    /// Ready, Reconciling: it is being deleted.
    pub const TERMINATING: &str = "Terminating";
    /// DeletionBlocked: pods still use the network.
    pub const IN_USE: &str = "InUse";
    /// OVSConnected, VPPConnected: the agent is connected.
    pub const CONNECTED: &str = "Connected";
    /// OVSConnected, VPPConnected: the engine was never reached on this node.
    pub const NEVER_SEEN: &str = "NeverSeen";
    /// OVSConnected, VPPConnected: the connection was lost.
    pub const DISCONNECTED: &str = "Disconnected";
    /// A network on a node: its engine is not connected, or does not act.
    pub const ENGINE_UNREACHABLE: &str = "EngineUnreachable";
    /// A network on a node: somebody else made a bridge of that name, or a bridge domain of that id.
    pub const BRIDGE_EXISTS: &str = "BridgeExists";
    /// A network on a node: the bridge that it adopts is not there.
    pub const BRIDGE_MISSING: &str = "BridgeMissing";
    /// A network on a node: the bridge that it adopts is not of a kind that its ports could work on, or is another network's.
    pub const BRIDGE_UNUSABLE: &str = "BridgeUnusable";
    /// Programmed: the API server does not accept the CompiledNetwork that tells nodes of it, for example because it would be too large.
    pub const COMPILED_NETWORK_REFUSED: &str = "CompiledNetworkRefused";
    /// DeletionBlocked, and a network on a node: its bridge should go, and has ports that somebody else made.
    pub const FOREIGN_PORTS: &str = "ForeignPorts";
    /// Ready of a node: every network is as the spec asks.
    pub const ALL_PROGRAMMED: &str = "AllProgrammed";
    /// Ready of a node: at least one network is not.
    pub const NOT_PROGRAMMED: &str = "NotProgrammed";
}

/// The status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Not known yet.
    Unknown,
}

impl Status {
    /// The value in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for Status {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// An evaluated condition, without its transition time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConditionUpdate {
    /// The type of the condition, one of the constants of this module.
    pub kind: &'static str,
    /// Whether it holds.
    pub status: Status,
    /// The reason, see [`reason`].
    pub reason: String,
    /// The message for users: why, and what to do.
    pub message: String,
}

impl ConditionUpdate {
    /// An update with these parts.
    pub fn new(kind: &'static str, status: Status, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, status, reason: reason.into(), message: message.into() }
    }
}

/// The conditions that replace `old`: those of `updates` and no others. An unchanged status keeps
/// its transition time.
pub fn merge(old: &[Condition], updates: Vec<ConditionUpdate>, generation: Option<i64>, now: &Time) -> Vec<Condition> {
    let since = |update: &ConditionUpdate| {
        let same = |condition: &&Condition| {
            condition.type_ == update.kind
                && condition.status == update.status.as_str()
                // The CRD sets its time to the epoch.
                && condition.reason != reason::WAITING_FOR_CONTROLLER
        };
        old.iter().find(same).map_or_else(|| now.clone(), |condition| condition.last_transition_time.clone())
    };
    let condition = |update: ConditionUpdate| Condition {
        last_transition_time: since(&update),
        type_: update.kind.to_owned(),
        status: update.status.as_str().to_owned(),
        reason: update.reason,
        message: update.message,
        observed_generation: generation,
    };
    updates.into_iter().map(condition).collect()
}

/// The condition of this type.
pub fn find<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Time {
        Time(k8s_openapi::jiff::Timestamp::from_second(second).unwrap())
    }

    fn ready(status: Status, reason: &str) -> ConditionUpdate {
        ConditionUpdate::new(READY, status, reason, "text")
    }

    #[test]
    fn the_transition_time_moves_only_with_the_status() {
        let first = merge(&[], vec![ready(Status::False, "A")], Some(1), &at(10));
        let second = merge(&first, vec![ready(Status::False, "B")], Some(2), &at(20));
        assert_eq!((second[0].last_transition_time.clone(), second[0].reason.as_str()), (at(10), "B"));
        assert_eq!(second[0].observed_generation, Some(2));
        let third = merge(&second, vec![ready(Status::True, "B")], Some(2), &at(30));
        assert_eq!(third[0].last_transition_time, at(30));
    }

    #[test]
    fn conditions_without_an_update_are_removed() {
        let old = merge(
            &[],
            vec![ready(Status::True, "A"), ConditionUpdate::new(STALLED, Status::True, "B", "")],
            None,
            &at(1),
        );
        let new = merge(&old, vec![ready(Status::True, "A")], None, &at(2));
        assert_eq!(new, old[..1]);
    }
}
