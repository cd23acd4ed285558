//! What `nics: PCI` needs of the kernel.

use super::super::blocked::Blocked;
use std::fs;
use std::path::Path;
use usnet_crds::conditions::reason::{DEVICES_MISSING, IOMMU_OFF};

/// Checks below a root folder, which is `/` outside of tests.
pub(super) fn check(root: &Path) -> Result<(), Blocked> {
    if !root.join("dev/vfio/vfio").exists() {
        let message = "spec.nics is PCI, and the node has no /dev/vfio/vfio: load the module vfio-pci on it, and write its name into /etc/modules-load.d";
        return Err(Blocked::new(DEVICES_MISSING, message));
    }
    if has_iommu(root) || is_allowed_without(root) {
        return Ok(());
    }
    let message = "spec.nics is PCI, and the IOMMU of the node is off: switch it on in the firmware (VT-d, AMD-Vi), and by the boot parameter intel_iommu=on or amd_iommu=on";
    Err(Blocked::new(IOMMU_OFF, message))
}

/// With an IOMMU each device is in a group.
fn has_iommu(root: &Path) -> bool {
    fs::read_dir(root.join("sys/kernel/iommu_groups")).is_ok_and(|mut groups| groups.next().is_some())
}

/// The administrator lets programs have devices without an IOMMU.
fn is_allowed_without(root: &Path) -> bool {
    let parameter = root.join("sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
    fs::read_to_string(parameter).is_ok_and(|value| value.trim() == "Y")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn driver_and_iommu_are_needed() {
        let root = tempfile::tempdir().unwrap();
        let reason = || check(root.path()).map_err(|blocked| blocked.reason);
        assert_eq!(reason(), Err(DEVICES_MISSING));
        fs::create_dir_all(root.path().join("dev/vfio/vfio")).unwrap();
        assert_eq!(reason(), Err(IOMMU_OFF));
        let parameters = root.path().join("sys/module/vfio/parameters");
        fs::create_dir_all(&parameters).unwrap();
        fs::write(parameters.join("enable_unsafe_noiommu_mode"), "N\n").unwrap();
        assert_eq!(reason(), Err(IOMMU_OFF));
        fs::write(parameters.join("enable_unsafe_noiommu_mode"), "Y\n").unwrap();
        assert_eq!(reason(), Ok(()));
        fs::remove_dir_all(parameters).unwrap();
        fs::create_dir_all(root.path().join("sys/kernel/iommu_groups/0")).unwrap();
        assert_eq!(reason(), Ok(()));
    }
}
