//! Checksum offload of a device. With it the kernel leaves checksums to the hardware of the device.
//! A veth has none and passes the packet on with an incomplete checksum, which a userspace switch
//! does not complete, so the receiver would drop it.

use usnet_dataplane::netlink::{Ethtool, NetlinkError};

/// The features that are disabled, by the kernel's names.
const CHECKSUMS: [(&str, bool); 2] = [("tx-checksum-ip-generic", false), ("tx-checksum-sctp", false)];

/// Makes the kernel compute the checksums of all packets that are sent over the device.
pub(super) fn disable_offload(device: u32) -> Result<(), NetlinkError> {
    Ethtool::open()?.set_features(device, &CHECKSUMS)
}
