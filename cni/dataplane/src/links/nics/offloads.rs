//! What a NIC does with frames that it receives and that an engine must not get.
//!
//! A packet socket gets packets that were merged into larger ones: they are larger than the MTU,
//! and are lost in the engine (Open vSwitch) or behind it (VPP). AF_XDP gets frames before they are
//! merged, and without a VLAN tag that the NIC has taken off.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use usnet_crds::NicDriver;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ReceiveOffload {
    /// In the kernel.
    #[serde(rename = "rx-gro")]
    Gro,
    /// In the NIC, so that the packets can be taken apart again.
    #[serde(rename = "rx-gro-hw")]
    HardwareGro,
    /// In the NIC.
    #[serde(rename = "rx-lro")]
    Lro,
    /// The NIC takes off VLAN tags.
    #[serde(rename = "rx-vlan-hw-parse")]
    TagStripping,
}

impl ReceiveOffload {
    pub const ALL: [Self; 4] = [Self::Gro, Self::HardwareGro, Self::Lro, Self::TagStripping];

    /// Whether an engine loses frames by it that drives the NIC so.
    pub(super) const fn harms(self, driver: NicDriver) -> bool {
        match (self, driver) {
            (_, NicDriver::Dpdk) | (Self::TagStripping, NicDriver::AfPacket) | (Self::Gro, NicDriver::AfXdp) => false,
            (Self::Gro | Self::HardwareGro | Self::Lro, NicDriver::AfPacket)
            | (Self::HardwareGro | Self::Lro | Self::TagStripping, NicDriver::AfXdp) => true,
        }
    }

    pub const fn kernel_name(self) -> &'static str {
        match self {
            Self::Gro => "rx-gro",
            Self::HardwareGro => "rx-gro-hw",
            Self::Lro => "rx-lro",
            Self::TagStripping => "rx-vlan-hw-parse",
        }
    }
}

impl fmt::Display for ReceiveOffload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kernel_name())
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedOffloads {
    pub on: BTreeSet<ReceiveOffload>,
    /// The offloads that the driver lets be changed.
    pub changeable: BTreeSet<ReceiveOffload>,
}

impl ObservedOffloads {
    /// The offloads among features with the kernel's names.
    pub fn of(active: &BTreeSet<String>, changeable: &BTreeSet<String>) -> Self {
        let among = |names: &BTreeSet<String>| {
            ReceiveOffload::ALL.into_iter().filter(|offload| names.contains(offload.kernel_name())).collect()
        };
        Self { on: among(active), changeable: among(changeable) }
    }

    /// The offloads by which an engine loses frames.
    pub(super) fn harmful(&self, driver: NicDriver) -> BTreeSet<ReceiveOffload> {
        self.on.iter().copied().filter(|offload| offload.harms(driver)).collect()
    }

    /// Those of them that can be switched off.
    pub(super) fn to_disable(&self, driver: NicDriver) -> BTreeSet<ReceiveOffload> {
        self.harmful(driver).intersection(&self.changeable).copied().collect()
    }
}
