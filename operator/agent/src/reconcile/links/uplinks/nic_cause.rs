//! Why a NIC cannot be used, for reports. Pure.

use crate::model::health::Cause;
use std::fmt::Display;
use usnet_crds::PciAddress;
use usnet_crds::conditions::message::uplink as message;
use usnet_crds::conditions::reason::{
    DEVICE_FAILED, DPDK_UNAVAILABLE, ENGINE_TAKES_DEVICES, IOMMU_GROUP_SHARED, MISSING_PRIVILEGE, NIC_CARRIES_NODE,
    NIC_HAS_FUNCTIONS, NIC_LOST, NIC_MERGES_PACKETS, NIC_MISSING, NIC_NOT_BOUND, NIC_STRIPS_TAGS, NIC_TAKEN,
};
use usnet_dataplane::links::nics::NicBlocker;
use usnet_dataplane::links::pci::PciBlocker;

pub(super) fn of_nic(blocker: &NicBlocker) -> Cause {
    let (reason, message) = match blocker {
        NicBlocker::MissingPrivilege => (MISSING_PRIVILEGE, message::MISSING_PRIVILEGE.to_owned()),
        NicBlocker::Missing { wanted } => (NIC_MISSING, message::nic_missing(wanted)),
        NicBlocker::Ambiguous { wanted, found } => (NIC_MISSING, message::nic_ambiguous(wanted, found)),
        NicBlocker::CarriesNode { nic, what } => (NIC_CARRIES_NODE, message::nic_carries_node(nic, what)),
        NicBlocker::SharedUntagged { nic } => (NIC_CARRIES_NODE, message::nic_shared_untagged(nic)),
        NicBlocker::Taken { nic, uplink } => (NIC_TAKEN, message::nic_taken(nic, &format!("uplink {uplink}"))),
        NicBlocker::Lost { nic, renamed } => {
            (NIC_LOST, message::nic_lost(nic, renamed.as_ref().map(|name| name as &dyn Display)))
        }
        NicBlocker::Down { nic } => (NIC_LOST, message::nic_down(nic)),
        NicBlocker::NotIsolated { nic, why } => (DEVICE_FAILED, message::nic_not_isolated(nic, why)),
        NicBlocker::NoCarrier { nic } => (NIC_LOST, message::nic_without_carrier(nic)),
        NicBlocker::StripsTags { nic } => (NIC_STRIPS_TAGS, message::nic_strips_tags(nic)),
        NicBlocker::HasProgram { nic } => (NIC_TAKEN, message::nic_has_program(nic)),
        NicBlocker::NotPci { nic } => (NIC_MISSING, message::nic_not_pci(nic)),
        NicBlocker::NoDpdk { why } => (DPDK_UNAVAILABLE, why.clone()),
        NicBlocker::TakesAll { nic, others } => (ENGINE_TAKES_DEVICES, message::engine_takes_devices(nic, others)),
        NicBlocker::Pci { nic, blocker } => of_pci(*nic, blocker),
        NicBlocker::NotTaken { nic, why } => (NIC_NOT_BOUND, message::nic_not_taken(nic, why)),
        NicBlocker::MergesPackets { nic, offloads } => (NIC_MERGES_PACKETS, message::nic_merges_packets(nic, offloads)),
    };
    Cause { reason, message }
}

fn of_pci(nic: PciAddress, blocker: &PciBlocker) -> (&'static str, String) {
    match blocker {
        PciBlocker::NotBound { driver, device } => {
            (NIC_NOT_BOUND, message::nic_not_bound(nic, driver.as_deref(), device.as_ref()))
        }
        PciBlocker::NoVfio { has_iommu } => (NIC_NOT_BOUND, message::no_vfio(nic, *has_iommu)),
        PciBlocker::GroupShared { members } => (IOMMU_GROUP_SHARED, message::iommu_group_shared(nic, members)),
        PciBlocker::HasFunctions { count } => (NIC_HAS_FUNCTIONS, message::nic_has_functions(nic, *count)),
    }
}
