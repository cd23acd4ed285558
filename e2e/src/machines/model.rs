//! The NICs that QEMU emulates.

use std::fmt;

/// A model of a NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum NicModel {
    /// Intel 82574L.
    E1000e,
    /// Intel 82576, with virtual functions; from QEMU 8.0 on.
    Igb,
    /// The paravirtual NIC, whose device on Linux is on the bus `virtio` and not `pci`.
    Virtio,
}

impl NicModel {
    pub const ALL: [Self; 3] = [Self::E1000e, Self::Igb, Self::Virtio];

    /// The driver of Linux, which is also the name of its module.
    #[must_use]
    pub const fn driver(self) -> &'static str {
        match self {
            Self::E1000e => "e1000e",
            Self::Igb => "igb",
            Self::Virtio => "virtio_net",
        }
    }

    /// The device of QEMU with its properties. Without `iommu_platform`, a virtio NIC does not go
    /// through the IOMMU, and DPDK cannot use it.
    #[must_use]
    pub(crate) const fn device(self) -> &'static str {
        match self {
            Self::E1000e => "e1000e",
            Self::Igb => "igb",
            Self::Virtio => "virtio-net-pci,iommu_platform=on,disable-legacy=on",
        }
    }
}

impl fmt::Display for NicModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::E1000e => "e1000e",
            Self::Igb => "igb",
            Self::Virtio => "virtio-net",
        })
    }
}
