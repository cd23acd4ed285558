//! What an agent reports of the uplinks of its node, in the status of the node.

use crate::names::UPLINK_NAME_MAX;
use crate::types::limits::{MESSAGE_MAX, NUMBER_MAX, REASON_MAX, REASON_PATTERN};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most uplinks of one node: far more than nodes have NICs.
pub const UPLINK_REPORTS_MAX: usize = 64;
/// Longest names of NICs in a report, in characters: those of 8 members of a bond have 134.
const NIC_MAX: usize = 160;

/// One uplink as the node has it.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase")]
pub struct UplinkReport {
    /// The name of the uplink.
    #[schemars(length(max = UPLINK_NAME_MAX))]
    pub name: String,
    /// The generation of the uplink that was last tried.
    #[schemars(range(min = 0, max = NUMBER_MAX))]
    pub generation: i64,
    /// How far the uplink is.
    pub state: UplinkState,
    /// Why the uplink is not programmed, or what is wrong with its bond, in one word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1, max = REASON_MAX), regex(pattern = REASON_PATTERN))]
    pub reason: String,
    /// Why the uplink is not programmed, or what is wrong with its bond, and what to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = MESSAGE_MAX))]
    pub message: String,
    /// The name of the NIC in Linux, or its PCI address; those of all members of a bond; empty if
    /// there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = NIC_MAX))]
    pub nic: String,
    /// The member of a bond that carries frames, in the mode ActiveBackup.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = NIC_MAX))]
    pub active_member: String,
}

/// How far an uplink is on a node.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UplinkState {
    /// The engine was read again after the last change and has the NIC.
    Programmed,
    /// The uplink is not programmed yet.
    Pending,
    /// The uplink cannot be programmed, for the reason given; the agent keeps trying.
    Failed,
}
