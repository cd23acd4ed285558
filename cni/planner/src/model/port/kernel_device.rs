//! What usnet sets on the kernel devices by which ports meet the kernel. No IO: the plugin and
//! `links` set it, and `isolation` has the rules that keep frames from the node.

/// What a kernel device is to a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceRole {
    /// The engine's end of a pod's veth pair. Every frame that it receives is kept from the node.
    EngineEndpoint,
    /// The pod's end of that pair, in the network namespace of the pod.
    PodEndpoint,
    /// The end of an overlay's pair that exchanges frames with the VXLAN device.
    OverlayEndpoint,
    /// The NIC of an uplink. Frames of the networks' VLANs, or all, are kept from the node.
    Nic,
}

impl DeviceRole {
    /// The offloads that are switched off, by the kernel's names.
    ///
    /// - A veth has no hardware for checksums. With the offload it would pass packets on with
    ///   incomplete ones, which an engine does not complete.
    /// - Merged packets are larger than the MTU, and engines lose them. The end of a pair leaves it
    ///   to the kernel to split them (without checksums a device has no segmentation of TCP
    ///   either), and a NIC merges nothing that it receives, in the kernel or in hardware.
    pub const fn offloads_off(self) -> &'static [&'static str] {
        match self {
            Self::EngineEndpoint | Self::PodEndpoint => &["tx-checksum-ip-generic", "tx-checksum-sctp"],
            Self::OverlayEndpoint => {
                &["tx-checksum-ip-generic", "tx-checksum-sctp", "tx-udp-segmentation", "tx-gso-list"]
            }
            Self::Nic => &["rx-gro", "rx-gro-hw", "rx-lro"],
        }
    }
}

/// What the pod's end of a pair does not leave to the other end where the engine has the frames
/// before the kernel (AF_XDP), by the kernel's names: the tag of a VLAN device of the pod would be
/// beside its frame, where the engine does not see it.
pub const TAGS_BESIDE_FRAMES: &[&str] = &["tx-vlan-hw-insert", "tx-vlan-stag-hw-insert"];

/// The kinds of merged packets, by the kernel's names, that no engine knows to take apart: where
/// packets are left to the engine, the kernel splits these before they are sent. What a packet
/// socket says of them (`struct virtio_net_hdr`) is read as something else by Open vSwitch 3.1, or
/// drops them.
pub const UNKNOWN_SEGMENTATION: &[&str] = &[
    "tx-gre-segmentation",
    "tx-gre-csum-segmentation",
    "tx-ipxip4-segmentation",
    "tx-ipxip6-segmentation",
    "tx-udp_tnl-segmentation",
    "tx-udp_tnl-csum-segmentation",
    "tx-sctp-segmentation",
    "tx-udp-segmentation",
    "tx-gso-list",
];
