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
    /// VPP reads the devices of DPDK from its startup.conf alone, and sees no carrier of AF_XDP.
    #[error("the drivers DPDK and AFXDP need the engine OVS: use AFPacket with VPP")]
    DriverEngine,
    #[error("{field} needs the driver DPDK: with the others the NIC has what is set in Linux")]
    NeedsDpdk { field: &'static str },
    #[error("afxdp needs the driver AFXDP")]
    NeedsAfxdp,
    #[error(
        "only its PCI address identifies a NIC that Linux does not drive: use the type PciAddress, or dpdk.bind: WhenFree"
    )]
    DpdkNeedsPciAddress,
    #[error("nodeTraffic Shared needs the driver AFPacket: with any other one the node loses the NIC")]
    SharedDriver,
    /// VPP sees no carrier of packet sockets.
    #[error("bonds need the engine OVS: with VPP use a bond of Linux by its name, with AFPacket")]
    BondEngine,
    #[error(
        "nodeTraffic Shared needs a single NIC: a bond of the engine takes its NICs from the node; use a bond of Linux by its name"
    )]
    SharedBond,
    #[error("a bond needs at least two members: for a single NIC use the type Name, MacAddress or PciAddress")]
    FewMembers,
    #[error("a bond has the same member twice")]
    SameMembers,
    #[error("lacpRate needs the mode LACP")]
    RateNeedsLacp,
}
