//! What is wrong with an uplink. The CEL rules have the same messages.

/// What is wrong with a field of an uplink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UplinkProblem {
    #[error("the type {device_type} and the member {member} belong together: set both or none of them")]
    Member { device_type: &'static str, member: &'static str },
    #[error("an uplink needs at least one NIC")]
    NoNic,
    /// Later entries would never be used.
    #[error("an entry without nodeSelector is for all other nodes: only the last one may have none")]
    NotLast,
    /// VPP owns its NICs: it sets a NIC down when it releases it.
    #[error(
        "nodeTraffic Shared needs the engine OVS: VPP sets a NIC down when it releases it. Use a NIC that the node does not use"
    )]
    SharedEngine,
    /// The node has the untagged frames.
    #[error("with Shared the node keeps untagged frames: set underlay.vlan")]
    SharedUnderlay,
    /// The node has the untagged frames.
    #[error("with Shared the node keeps untagged frames and networks need a VLAN: set vlans, such as [\"100-199\"]")]
    SharedWithoutVlans,
}
