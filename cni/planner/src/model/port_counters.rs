//! What is counted of a port.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The counters of one port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PortCounters {
    /// Whether the other end of the port is there.
    pub connected: bool,
    pub receive: Traffic,
    pub transmit: Traffic,
    /// Frames by why they were dropped, in the words of the engine, whose direction is its own.
    /// Causes that never occurred are not in it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub drop_causes: BTreeMap<String, u64>,
}

/// The causes that mean that the ring of the pod's program had no room: of a vhost-user port of
/// Open vSwitch; of a memif and of a vhost-user port of VPP, in the words of the engines.
const FULL_RING: [&str; 3] = ["ovs_tx_failure_drops", "no_free_slots", "tx packet drops (no available descriptors)"];

impl PortCounters {
    /// Frames that were dropped because the pod's program did not take others soon enough.
    pub fn dropped_by_full_ring(&self) -> u64 {
        FULL_RING
            .iter()
            .filter_map(|cause| self.drop_causes.get(*cause))
            .fold(0, |sum, count| sum.saturating_add(*count))
    }
}

/// The counters of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// Their bytes. Of VPP's ports also those of frames that the pod did not take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Frames that the pod did not take, or that the engine did not take or forward.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<u64>,
    /// Frames that could not be sent or received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<u64>,
}
