//! A PCI bus made of files. Binding has no effect there: the kernel's part is tested on nodes with
//! real devices.

use super::{GroupMember, ObservedPci, PciBlocker, PciError, Sysfs, VFIO_DRIVER};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use usnet_crds::PciAddress;

const NIC: &str = "0000:02:00.0";

struct Bus {
    folder: TempDir,
}

impl Bus {
    fn new() -> Self {
        let bus = Self { folder: TempDir::new().unwrap() };
        fs::create_dir_all(bus.path("bus/pci/devices")).unwrap();
        bus
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn device(&self, address: &str, class: &str, driver: Option<&str>, group: u32) -> PathBuf {
        let device = self.path("bus/pci/devices").join(address);
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("class"), format!("{class}\n")).unwrap();
        if let Some(driver) = driver {
            let folder = self.path("bus/pci/drivers").join(driver);
            fs::create_dir_all(&folder).unwrap();
            symlink(folder, device.join("driver")).unwrap();
        }
        let group = self.path(&format!("kernel/iommu_groups/{group}"));
        fs::create_dir_all(group.join("devices")).unwrap();
        symlink(&device, group.join("devices").join(address)).unwrap();
        symlink(&group, device.join("iommu_group")).unwrap();
        device
    }

    fn observe(&self) -> ObservedPci {
        Sysfs::new(self.folder.path()).observe().unwrap()
    }
}

fn address(text: &str) -> PciAddress {
    text.parse().unwrap()
}

fn write(device: &Path, name: &str, text: &str) {
    fs::write(device.join(name), text).unwrap();
}

#[test]
fn nics_are_read_with_driver_device_group_and_functions() {
    let bus = Bus::new();
    let nic = bus.device(NIC, "0x020000", Some("e1000e"), 7);
    fs::create_dir_all(nic.join("net/eth2")).unwrap();
    write(&nic, "numa_node", "1\n");
    write(&nic, "sriov_numvfs", "2\n");
    bus.device("0000:00:02.0", "0x060400", Some("pcieport"), 7);
    let virtio = bus.device("0000:03:00.0", "0x020000", Some("virtio-pci"), 8);
    fs::create_dir_all(virtio.join("virtio3/net/eth3")).unwrap();
    write(&virtio, "numa_node", "-1\n");
    bus.device("0000:04:00.0", "0x010802", Some("nvme"), 9);
    let observed = bus.observe();
    assert_eq!(observed.nics.len(), 2, "neither the bridge nor the disk");
    let nic = &observed.nics[&address(NIC)];
    assert_eq!((nic.driver.as_deref(), nic.iommu_group, nic.numa_node), (Some("e1000e"), Some(7), Some(1)));
    assert_eq!((nic.virtual_functions, nic.group.len()), (2, 0));
    assert_eq!(observed.of_device(nic.device.as_ref().unwrap()), Some(address(NIC)));
    let virtio = &observed.nics[&address("0000:03:00.0")];
    assert_eq!((virtio.device.as_ref().unwrap().as_str(), virtio.numa_node), ("eth3", None));
    assert!(!observed.has_vfio);
    assert_eq!(Sysfs::new(bus.path("absent")).observe().unwrap(), ObservedPci::default());
}

#[test]
fn a_nic_can_be_had_that_is_bound_and_whose_group_the_kernel_does_not_use() {
    let bus = Bus::new();
    let nic = bus.device(NIC, "0x020000", Some(VFIO_DRIVER), 7);
    let other = bus.device("0000:02:00.1", "0x020000", Some("e1000e"), 7);
    let member = GroupMember { address: address("0000:02:00.1"), driver: Some("e1000e".to_owned()) };
    let blocker = || bus.observe().nics[&address(NIC)].blocker();
    assert_eq!(blocker(), Some(PciBlocker::GroupShared { members: vec![member] }));
    fs::remove_file(other.join("driver")).unwrap();
    assert_eq!(blocker(), None);
    fs::remove_file(nic.join("driver")).unwrap();
    assert_eq!(blocker(), Some(PciBlocker::NotBound { driver: None, device: None }));
    let observed = bus.observe();
    let binding = || observed.nics[&address(NIC)].binding_blocker(&observed);
    assert_eq!(binding(), None);
    let functions = bus.device("0000:05:00.0", "0x020000", Some("igb"), 9);
    write(&functions, "sriov_numvfs", "2\n");
    fs::remove_file(bus.path("bus/pci/devices/0000:05:00.0/iommu_group")).unwrap();
    let of_functions = |bus: &Bus| {
        let observed = bus.observe();
        observed.nics[&address("0000:05:00.0")].binding_blocker(&observed)
    };
    assert_eq!(of_functions(&bus), Some(PciBlocker::HasFunctions { count: 2 }));
    write(&functions, "sriov_numvfs", "0\n");
    assert_eq!(of_functions(&bus), Some(PciBlocker::NoVfio { has_iommu: false }));
}

#[test]
fn a_device_that_no_driver_takes_is_given_back_to_the_kernel() {
    let bus = Bus::new();
    let nic = bus.device(NIC, "0x020000", Some("e1000e"), 7);
    let error = Sysfs::new(bus.folder.path()).bind(address(NIC), Some(VFIO_DRIVER)).unwrap_err();
    assert!(matches!(error, PciError::NotTaken { .. }), "{error}");
    assert_eq!(fs::read_to_string(nic.join("driver_override")).unwrap(), "\n");
    let drivers = bus.path("bus/pci");
    assert_eq!(fs::read_to_string(drivers.join("drivers/e1000e/unbind")).unwrap(), NIC);
    assert_eq!(fs::read_to_string(drivers.join("drivers_probe")).unwrap(), NIC);
    let missing = Sysfs::new(bus.path("absent")).bind(address(NIC), Some(VFIO_DRIVER)).unwrap_err();
    assert!(missing.to_string().contains("choose the driver of 0000:02:00.0"), "{missing}");
}
