//! What an agent reports of the uplinks of its node, in the status of the node.

use crate::names::UPLINK_NAME_MAX;
use crate::types::limits::{MESSAGE_MAX, NUMBER_MAX, REASON_MAX, REASON_PATTERN};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most uplinks of one node: far more than nodes have NICs.
pub const UPLINK_REPORTS_MAX: usize = 64;
/// Longest name of a NIC, or of the members of a bond, in characters.
const NIC_MAX: usize = 128;

/// One uplink as the node has it.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase")]
pub struct UplinkReport {
    /// The uplink's name.
    #[schemars(length(max = UPLINK_NAME_MAX))]
    pub name: String,
    /// The generation of the uplink that was last tried.
    #[schemars(range(min = 0, max = NUMBER_MAX))]
    pub generation: i64,
    /// How far it is.
    pub state: UplinkState,
    /// Why it is not programmed, in one word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1, max = REASON_MAX), regex(pattern = REASON_PATTERN))]
    pub reason: String,
    /// Why it is not programmed, and what to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = MESSAGE_MAX))]
    pub message: String,
    /// The NIC, by its name in Linux, or the members of its bond; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = NIC_MAX))]
    pub nic: String,
}

/// How far an uplink is on a node.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UplinkState {
    /// The engine was read again after the last change and has the NIC.
    Programmed,
    /// Not yet.
    Pending,
    /// It cannot be, for the reason given; the agent keeps trying.
    Failed,
}
