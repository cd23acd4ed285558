//! What merges packets that a NIC receives into larger ones. An engine reads frames through a
//! packet socket, which gets the merged ones: they are larger than the MTU, and are lost in the
//! engine (Open vSwitch) or behind it (VPP).

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

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
}

impl ReceiveOffload {
    pub const ALL: [Self; 3] = [Self::Gro, Self::HardwareGro, Self::Lro];

    pub const fn kernel_name(self) -> &'static str {
        match self {
            Self::Gro => "rx-gro",
            Self::HardwareGro => "rx-gro-hw",
            Self::Lro => "rx-lro",
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

    /// The offloads that can be switched off.
    pub(super) fn to_disable(&self) -> BTreeSet<ReceiveOffload> {
        self.on.intersection(&self.changeable).copied().collect()
    }
}
