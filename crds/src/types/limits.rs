//! Validated numeric newtypes, and the limits that the CRD and Rust share.

use super::ip_family::IpFamily;
use super::number::{OutOfRange, number};
use serde::{Deserialize, Serialize};

/// Longest text of an address with its prefix length.
pub const CIDR_MAX: usize = 43;
/// Longest text of an address.
pub const IP_MAX: usize = 39;
/// Longest IPAM configuration of a network or a NetworkAttachmentDefinition, in bytes of JSON:
/// every node stores it, and any tenant may write one.
pub const IPAM_MAX: usize = 8 * 1024;
/// Longest id of a device, in bytes, by kubelet's device plugin API.
pub const DEVICE_ID_MAX: usize = 63;
/// Longest name of a network with devices, in bytes: their ids end in `-` and a number of up to
/// three digits.
pub const DEVICE_NETWORK_NAME_MAX: usize = DEVICE_ID_MAX - 4;
/// Most pods with fixed settings in one network. With [`IPS_MAX`] it keeps the rule that addresses
/// are unique within the cost limit of the API server.
pub const ATTACHMENTS_MAX: usize = 128;
/// Most pods of one range in these. Other nodes exclude the addresses of ranges one by one.
pub const RANGE_PODS_MAX: u32 = 1000;
/// Most reservations of a network, of all namespaces: all nodes store what they fix.
pub const RESERVATIONS_MAX: usize = 256;
/// Most pods of one reservation.
pub const RESERVATION_PODS_MAX: u32 = 100;
/// Most VLANs in `trunks` of one reservation.
pub const RESERVATION_TRUNKS_MAX: usize = 32;
/// Most subnets of which a network lets reservations have addresses.
pub const RESERVED_SUBNETS_MAX: usize = 16;
/// Most addresses that one pod may use besides its own.
pub const ADDRESS_PAIRS_MAX: usize = 16;
/// Most addresses of one pod: one of each family.
pub const IPS_MAX: usize = 2;
/// Most values of one requirement of a label selector, such as names of namespaces: CEL rejects
/// rules over unbounded lists.
pub const SELECTOR_VALUES_MAX: usize = 256;
/// Longest reason of a network or an uplink on a node, in bytes.
pub const REASON_MAX: usize = 64;
/// Longest message of a network or an uplink on a node, in characters; what is longer is cut by the
/// agent.
pub const MESSAGE_MAX: usize = 512;
/// Largest generation or epoch: what a double of JSON holds exactly.
#[cfg(feature = "api")]
pub(crate) const NUMBER_MAX: i64 = 9_007_199_254_740_991;
#[cfg(feature = "api")]
pub(crate) const REASON_PATTERN: &str = "^[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?$";

number!(
    /// Largest payload of a frame, in bytes. 9702 is what DPDK's ports carry in Open vSwitch; it
    /// silently ignores larger ones.
    Mtu, "MTU", 576, 9702
);
number!(
    /// The id of a VLAN (IEEE 802.1Q), without the two reserved ones.
    VlanTag, "VLAN tag", 1, 4094
);
number!(
    /// Queue pairs of one port. A vhost-user port takes at most 128.
    Queues, "number of queues", 1, 128
);
number!(
    /// How often Open vSwitch tries again to send what did not fit into the queue of a pod.
    TransmitRetries, "number of retries", 0, 32
);
number!(
    /// Devices of one network on one node. Each is a message to kubelet, and part of its name has
    /// three digits.
    DeviceCount, "number of devices", 1, 1000
);
number!(
    /// The limits of [`RingSize`]. VPP's API silently accepts larger ones; its CLI does not.
    RingSizeRange, "ring size", 2, 32_768
);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRingSize {
    #[error(transparent)]
    Range(#[from] OutOfRange),
    #[error("ring size {0} is not a power of two: use 2, 4, 8 and so on up to {max}", max = RingSize::MAXIMUM)]
    NotPowerOfTwo(i64),
}

/// Descriptors of one ring of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct RingSize(RingSizeRange);

impl RingSize {
    pub const MINIMUM: u16 = RingSizeRange::MINIMUM;
    pub const MAXIMUM: u16 = RingSizeRange::MAXIMUM;

    pub const fn get(self) -> u16 {
        self.0.get()
    }

    /// All sizes, from the smallest to the largest.
    pub fn all() -> impl Iterator<Item = Self> {
        let sizes = std::iter::successors(Some(Self::MINIMUM), |size| size.checked_mul(2));
        sizes.filter_map(|size| Self::try_from(i64::from(size)).ok())
    }
}

#[cfg(feature = "api")]
super::number::number_schema!(RingSize);

impl TryFrom<i64> for RingSize {
    type Error = InvalidRingSize;
    fn try_from(value: i64) -> Result<Self, InvalidRingSize> {
        let range = RingSizeRange::try_from(value)?;
        if range.get().is_power_of_two() { Ok(Self(range)) } else { Err(InvalidRingSize::NotPowerOfTwo(value)) }
    }
}

impl From<RingSize> for i64 {
    fn from(size: RingSize) -> Self {
        size.0.into()
    }
}

impl Default for RingSize {
    fn default() -> Self {
        Self(RingSizeRange(1024))
    }
}

impl Default for DeviceCount {
    fn default() -> Self {
        Self(64)
    }
}

impl Mtu {
    /// The MTU of a network of one node: that of Ethernet.
    pub const NODE_LOCAL: Self = Self(1500);

    /// The MTU of an overlay on nodes whose NICs have the MTU of Ethernet.
    pub const fn of_overlay(family: IpFamily) -> Self {
        Self(Self::NODE_LOCAL.0 - family.vxlan_overhead())
    }
}

impl Default for Mtu {
    fn default() -> Self {
        Self::NODE_LOCAL
    }
}

impl Default for Queues {
    fn default() -> Self {
        Self(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_at_both_ends() {
        assert_eq!(Mtu::try_from(576).map(Mtu::get), Ok(576));
        assert_eq!(Mtu::try_from(9702).map(Mtu::get), Ok(9702));
        assert!(Mtu::try_from(575).is_err() && Mtu::try_from(9703).is_err());
        assert!(VlanTag::try_from(0).is_err() && VlanTag::try_from(4095).is_err() && VlanTag::try_from(4094).is_ok());
    }

    #[test]
    fn ring_sizes_are_powers_of_two() {
        assert!([2, 1024, 32_768].into_iter().all(|size| RingSize::try_from(size).is_ok()));
        for bad in [0, 1, 3, 1000, 32_767, 65_536, -2] {
            assert!(RingSize::try_from(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_number_that_would_wrap_is_refused_by_name() {
        let refused = VlanTag::try_from(65_536 + 7).unwrap_err();
        assert_eq!(refused.to_string(), "VLAN tag 65543 is out of range: use 1 to 4094");
    }
}
