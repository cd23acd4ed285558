//! What is wrong with an uplink. The CEL rules have the same messages.

use crate::NicDriver;

/// What is wrong with a field of an uplink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UplinkProblem {
    /// The member of a union that `type` requires, or one that it does not have.
    #[error("the type {device_type} and the member {member} belong together: set both or none of them")]
    Member {
        /// The type.
        device_type: &'static str,
        /// Its member.
        member: &'static str,
    },
    /// Bonds.
    #[error("bonds are not supported yet: use one NIC, by Name, MacAddress or PciAddress")]
    Bond,
    /// The engine cannot use the NIC this way.
    #[error("the driver {} is not supported yet: use AFPacket", .0.as_str())]
    Driver(NicDriver),
    /// There is nothing to connect.
    #[error("an uplink needs at least one NIC")]
    NoNic,
    /// Later entries would never be used.
    #[error("an entry without nodeSelector is for all other nodes: only the last one may have none")]
    NotLast,
    /// VPP owns the NICs that it has: it sets one down that it lets go.
    #[error(
        "nodeTraffic Shared needs the engine OVS: VPP sets a NIC down that it lets go. Use a NIC that the node does not use"
    )]
    SharedEngine,
    /// The node has the untagged frames.
    #[error("with Shared the node keeps untagged frames: set underlay.vlan")]
    SharedUnderlay,
    /// The node has the untagged frames.
    #[error("with Shared the node keeps untagged frames and networks need a VLAN: set vlans, such as [\"100-199\"]")]
    SharedWithoutVlans,
}
