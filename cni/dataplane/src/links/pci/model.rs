//! The Ethernet devices on the PCI bus, at one moment, and what keeps an engine from driving one.

use crate::model::port::DeviceName;
use std::collections::BTreeMap;
use std::fmt;
use usnet_crds::PciAddress;

/// The drivers that hand a device to a program. With others the kernel uses it.
const DRIVERS_OF_PROGRAMS: [&str; 3] = [super::VFIO_DRIVER, "uio_pci_generic", "igb_uio"];

/// The Ethernet devices of the node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedPci {
    pub nics: BTreeMap<PciAddress, ObservedPciNic>,
    /// Whether the kernel has vfio-pci, which hands devices to programs.
    pub has_vfio: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedPciNic {
    /// The driver that has it; none if no driver has.
    pub driver: Option<String>,
    /// Its device in the kernel.
    pub device: Option<DeviceName>,
    /// The number of its IOMMU group; none without an IOMMU.
    pub iommu_group: Option<u32>,
    /// The other devices of that group, bridges left out: the IOMMU cannot keep them apart.
    pub group: Vec<GroupMember>,
    /// The NUMA node that it is nearest to.
    pub numa_node: Option<u32>,
    /// How many virtual functions it has now.
    pub virtual_functions: u32,
}

/// Another device of an IOMMU group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMember {
    pub address: PciAddress,
    pub driver: Option<String>,
}

impl GroupMember {
    /// Whether the kernel uses it, so that no program can have another device of its group.
    fn is_of_kernel(&self) -> bool {
        self.driver.as_deref().is_some_and(|driver| !is_of_programs(driver))
    }
}

impl fmt::Display for GroupMember {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, driver } = self;
        write!(formatter, "{address} on {}", driver.as_deref().unwrap_or("no driver"))
    }
}

/// Whether a driver hands devices to programs.
fn is_of_programs(driver: &str) -> bool {
    DRIVERS_OF_PROGRAMS.contains(&driver)
}

/// What keeps an engine from driving a NIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PciBlocker {
    /// A driver of the kernel has it, or none.
    NotBound { driver: Option<String>, device: Option<DeviceName> },
    /// The kernel has no vfio-pci, or no IOMMU, which that needs.
    NoVfio { has_iommu: bool },
    /// The kernel uses other devices of its group.
    GroupShared { members: Vec<GroupMember> },
    /// It has virtual functions, which would be gone.
    HasFunctions { count: u32 },
}

impl ObservedPciNic {
    /// Whether a program can have it.
    pub fn is_bound(&self) -> bool {
        self.driver.as_deref().is_some_and(is_of_programs)
    }

    /// What keeps a program from having it as it is bound now.
    pub(in crate::links) fn blocker(&self) -> Option<PciBlocker> {
        let not_bound = || PciBlocker::NotBound { driver: self.driver.clone(), device: self.device.clone() };
        if self.is_bound() { self.group_blocker() } else { Some(not_bound()) }
    }

    /// What keeps the agent from binding it.
    pub(in crate::links) fn binding_blocker(&self, bus: &ObservedPci) -> Option<PciBlocker> {
        let has_iommu = self.iommu_group.is_some();
        if self.virtual_functions > 0 {
            return Some(PciBlocker::HasFunctions { count: self.virtual_functions });
        }
        let no_vfio = (!bus.has_vfio || !has_iommu).then_some(PciBlocker::NoVfio { has_iommu });
        no_vfio.or_else(|| self.group_blocker())
    }

    fn group_blocker(&self) -> Option<PciBlocker> {
        let members: Vec<_> = self.group.iter().filter(|member| member.is_of_kernel()).cloned().collect();
        (!members.is_empty()).then_some(PciBlocker::GroupShared { members })
    }
}

impl ObservedPci {
    /// The NIC that has this device in the kernel.
    pub fn of_device(&self, device: &DeviceName) -> Option<PciAddress> {
        let mut all = self.nics.iter();
        all.find(|(_, nic)| nic.device.as_ref() == Some(device)).map(|(address, _)| *address)
    }

    /// The NICs that programs can have, but for these: an engine without a list of allowed devices
    /// takes all of them.
    pub fn bound_besides<'a>(&'a self, used: &'a [PciAddress]) -> impl Iterator<Item = PciAddress> + 'a {
        let others = self.nics.iter().filter(|(address, nic)| nic.is_bound() && !used.contains(address));
        others.map(|(address, _)| *address)
    }
}
