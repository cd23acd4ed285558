//! Reads the Ethernet devices of the PCI bus, and changes their drivers (IO).

use super::model::{GroupMember, ObservedPci, ObservedPciNic};
use crate::model::port::DeviceName;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use usnet_crds::PciAddress;

/// The driver to which the agent binds NICs.
pub const VFIO_DRIVER: &str = "vfio-pci";
/// The class of Ethernet controllers, in the upper two of three bytes.
const ETHERNET: u32 = 0x0200;
/// The class of bridges, in the uppermost byte: they are in the groups of what is behind them, and
/// no program needs them.
const BRIDGE: u32 = 0x06;

/// The PCI bus, by the file system of the kernel for devices.
#[derive(Debug, Clone)]
pub struct Sysfs {
    root: PathBuf,
}

/// Why a device could not be read or bound.
#[derive(Debug, thiserror::Error)]
pub enum PciError {
    #[error("cannot {what}{}", advice(source))]
    File {
        /// What was to be done.
        what: String,
        source: io::Error,
    },
    #[error("{address} is on {}, and not on {wanted}: see dmesg", found.as_deref().unwrap_or("no driver"))]
    NotTaken { address: PciAddress, wanted: String, found: Option<String> },
}

/// What to do about an error of binding.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            ": the agent may not bind devices; install the component nic-binding, or bind it yourself"
        }
        _ => "",
    }
}

impl Sysfs {
    /// The bus below a root, usually `/sys`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Reads all Ethernet devices. A node without PCI has none.
    ///
    /// # Errors
    /// The folder of devices cannot be read. A device that goes while it is read is left out.
    pub fn observe(&self) -> Result<ObservedPci, PciError> {
        let has_vfio = self.driver_folder(VFIO_DRIVER).is_dir();
        let addresses = match fs::read_dir(self.devices()) {
            Ok(entries) => entries.filter_map(|entry| parse(&entry.ok()?.file_name())).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(PciError::File { what: "list the devices of the PCI bus".to_owned(), source }),
        };
        let ethernet = addresses.into_iter().filter(|address| self.class(*address) == Some(ETHERNET));
        Ok(ObservedPci { nics: ethernet.map(|address| (address, self.nic(address))).collect(), has_vfio })
    }

    fn devices(&self) -> PathBuf {
        self.root.join("bus/pci/devices")
    }

    fn device(&self, address: PciAddress) -> PathBuf {
        self.devices().join(address.to_string())
    }

    fn driver_folder(&self, driver: &str) -> PathBuf {
        self.root.join("bus/pci/drivers").join(driver)
    }

    fn nic(&self, address: PciAddress) -> ObservedPciNic {
        let folder = self.device(address);
        let group = folder.join("iommu_group");
        ObservedPciNic {
            driver: self.driver(address),
            device: device_of(&folder),
            iommu_group: fs::read_link(&group).ok().and_then(|link| link.file_name()?.to_str()?.parse().ok()),
            group: self.group_besides(address, &group),
            // -1 means none.
            numa_node: number(&folder.join("numa_node")),
            virtual_functions: number(&folder.join("sriov_numvfs")).unwrap_or_default(),
        }
    }

    fn group_besides(&self, address: PciAddress, group: &Path) -> Vec<GroupMember> {
        let entries = fs::read_dir(group.join("devices")).into_iter().flatten();
        let others = entries.filter_map(|entry| parse(&entry.ok()?.file_name())).filter(|other| *other != address);
        let is_bridge = |other: &PciAddress| self.class(*other).is_some_and(|class| class >> 8 == BRIDGE);
        let mut members: Vec<_> = others
            .filter(|other| !is_bridge(other))
            .map(|address| GroupMember { address, driver: self.driver(address) })
            .collect();
        members.sort_by_key(|member| member.address);
        members
    }

    /// The upper two bytes of the class of a device.
    fn class(&self, address: PciAddress) -> Option<u32> {
        let text = fs::read_to_string(self.device(address).join("class")).ok()?;
        u32::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok().map(|class| class >> 8)
    }

    fn driver(&self, address: PciAddress) -> Option<String> {
        let link = fs::read_link(self.device(address).join("driver")).ok()?;
        Some(link.file_name()?.to_str()?.to_owned())
    }

    /// Takes a device from its driver and gives it to another one; none leaves the choice to the
    /// kernel. It waits until the program that has the device lets it go.
    ///
    /// # Errors
    /// The kernel does not permit it, or the driver did not take the device, which then has the one
    /// that the kernel chooses.
    pub fn bind(&self, address: PciAddress, driver: Option<&str>) -> Result<(), PciError> {
        let present = self.driver(address);
        if driver.is_some() && present.as_deref() == driver {
            return Ok(());
        }
        let result = self.rebind(address, present.as_deref(), driver);
        if result.is_err() && driver.is_some() {
            let _best_effort = self.rebind(address, self.driver(address).as_deref(), None);
        }
        result
    }

    fn rebind(&self, address: PciAddress, present: Option<&str>, driver: Option<&str>) -> Result<(), PciError> {
        let write = |what: &str, path: PathBuf, text: &str| {
            let failed = |source| PciError::File { what: format!("{what} {address}"), source };
            fs::write(path, text).map_err(failed)
        };
        // A line feed removes the override.
        let chosen = driver.unwrap_or("\n");
        write("choose the driver of", self.device(address).join("driver_override"), chosen)?;
        if let Some(present) = present {
            let path = self.driver_folder(present).join("unbind");
            write(&format!("take from driver {present} the device"), path, &address.to_string())?;
        }
        write("find a driver for", self.root.join("bus/pci/drivers_probe"), &address.to_string())?;
        let found = self.driver(address);
        match driver {
            Some(wanted) if found.as_deref() != Some(wanted) => {
                Err(PciError::NotTaken { address, wanted: wanted.to_owned(), found })
            }
            _ => Ok(()),
        }
    }
}

fn parse(name: &OsStr) -> Option<PciAddress> {
    name.to_str()?.parse().ok()
}

fn number(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The device that the kernel has of a NIC. That of virtio is one level below.
fn device_of(folder: &Path) -> Option<DeviceName> {
    let first = |folder: PathBuf| {
        let mut names: Vec<_> = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
        names.sort();
        names.first()?.to_str().map(DeviceName::observed)
    };
    first(folder.join("net")).or_else(|| {
        let children = fs::read_dir(folder).ok()?.filter_map(Result::ok);
        let mut virtio = children.filter(|child| child.file_name().to_str().is_some_and(|it| it.starts_with("virtio")));
        first(virtio.next()?.path().join("net"))
    })
}
