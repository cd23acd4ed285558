//! The NICs that the agent has taken from their drivers in Linux, so that an engine can drive them.
//! The file is written before a NIC is taken: whatever is killed meanwhile, a later agent gives it
//! back.

use crate::store::atomic_file::{self, Durability};
use crate::store::paths::NodePaths;
use serde::{Deserialize, Serialize};
use usnet_crds::{EngineKind, MacAddress, PciAddress, UplinkName};

pub use crate::store::atomic_file::Error;

/// A thousand NICs need less.
const SIZE_MAX: u64 = 1 << 20;

/// The NICs that the agent has taken for one engine. Like their drivers, the file does not outlive
/// a reboot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BoundNics {
    /// The layout of this file; [`BoundNics::VERSION`] when written by this release.
    pub version: u32,
    pub nics: Vec<BoundNic>,
}

/// One NIC, as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BoundNic {
    pub address: PciAddress,
    /// The uplink that it was taken for.
    pub uplink: UplinkName,
    /// The driver that had it; none if no driver had.
    pub driver: Option<String>,
    /// Its name in Linux.
    pub device: Option<String>,
    /// Its MAC address in Linux.
    pub mac: Option<MacAddress>,
    /// Whether it was administratively up.
    pub was_up: bool,
}

impl Default for BoundNics {
    fn default() -> Self {
        Self { version: Self::VERSION, nics: Vec::new() }
    }
}

impl BoundNics {
    /// The layout that this release writes.
    pub const VERSION: u32 = 1;

    /// Reads the file; without it no NIC was taken.
    ///
    /// # Errors
    /// The file cannot be read or was written by a later release.
    pub fn read(paths: &NodePaths, engine: EngineKind) -> Result<Self, Error> {
        Ok(atomic_file::read(&paths.bound_nics_file(engine), Self::VERSION, SIZE_MAX)?.unwrap_or_default())
    }

    /// Writes the file.
    pub fn write(&self, paths: &NodePaths, engine: EngineKind) -> Result<(), Error> {
        // Not for root only: engines may run as another user and have sockets below this directory.
        atomic_file::create_folder(&paths.run, 0o755)?;
        atomic_file::write_if_changed(&paths.bound_nics_file(engine), self, Durability::Process).map(drop)
    }

    /// Adds a NIC. One that was taken before stays as it was found then.
    pub fn add(&mut self, nic: BoundNic) {
        match self.nics.iter_mut().find(|found| found.address == nic.address) {
            Some(found) => found.uplink = nic.uplink,
            None => self.nics.push(nic),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::node_paths;

    #[test]
    fn a_nic_stays_as_it_was_found_first_and_is_of_one_engine() {
        let (_folder, paths) = node_paths();
        let engine = EngineKind::OpenVswitch;
        let mut file = BoundNics::read(&paths, engine).unwrap();
        assert_eq!(file, BoundNics::default());
        let nic = BoundNic {
            address: "0000:02:00.0".parse().unwrap(),
            uplink: "fab".parse().unwrap(),
            driver: Some("e1000e".to_owned()),
            device: Some("eth2".to_owned()),
            mac: None,
            was_up: true,
        };
        file.add(nic.clone());
        let later = BoundNic { uplink: "dci".parse().unwrap(), driver: Some("vfio-pci".to_owned()), ..nic.clone() };
        file.add(BoundNic { device: None, ..later });
        file.write(&paths, engine).unwrap();
        let read = BoundNics::read(&paths, engine).unwrap();
        assert_eq!(BoundNics::read(&paths, EngineKind::Vpp).unwrap(), BoundNics::default());
        assert_eq!(read.nics, [BoundNic { uplink: "dci".parse().unwrap(), ..nic }]);
    }
}
