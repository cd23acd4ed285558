//! Checksum offload of a device, by which the kernel leaves checksums to the hardware. A veth has
//! no hardware and passes packets on with incomplete checksums. A userspace switch does not
//! complete them, and the receiver would drop the packets.

use usnet_dataplane::netlink::{Ethtool, NetlinkError};
use usnet_dataplane::port::DeviceRole;

/// Makes the kernel compute the checksums of all packets that are sent over a device with this
/// index.
pub(super) fn disable_offload(device: u32, role: DeviceRole) -> Result<(), NetlinkError> {
    let off: Vec<_> = role.offloads_off().iter().map(|offload| (*offload, false)).collect();
    Ethtool::open()?.set_features(device, &off)
}
