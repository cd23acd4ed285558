//! What the agent has switched off at NICs, so that it is switched on again when the engine lets
//! them go, also by a later agent.

use crate::store::atomic_file::{self, Durability};
use crate::store::paths::NodePaths;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use usnet_crds::{EngineKind, MacAddress};

pub use crate::store::atomic_file::Error;

/// A thousand NICs need less.
const SIZE_MAX: u64 = 1 << 20;

/// The NICs of one engine that were changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NicOffloads {
    /// The layout of this file; [`NicOffloads::VERSION`] when written by this release.
    pub version: u32,
    pub nics: Vec<ChangedNic>,
}

/// One NIC, and what was found on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedNic {
    /// The index of the NIC, which no other device has until the next reboot.
    pub index: u32,
    /// The MAC address of the NIC: a file that survived a reboot must not change another NIC.
    pub mac: MacAddress,
    /// The features that were on, by the kernel's names.
    pub found_on: BTreeSet<String>,
}

impl Default for NicOffloads {
    fn default() -> Self {
        Self { version: Self::VERSION, nics: Vec::new() }
    }
}

impl NicOffloads {
    /// The layout that this release writes.
    pub const VERSION: u32 = 1;

    /// Reads the file; without it nothing was changed.
    ///
    /// # Errors
    /// The file cannot be read or was written by a later release.
    pub fn read(paths: &NodePaths, engine: EngineKind) -> Result<Self, Error> {
        let file = atomic_file::read(&paths.nic_offloads_file(engine), Self::VERSION, SIZE_MAX)?;
        Ok(file.unwrap_or_default())
    }

    /// Writes the file.
    pub fn write(&self, paths: &NodePaths, engine: EngineKind) -> Result<(), Error> {
        // Not for root only: engines may run as another user and have sockets below this directory.
        atomic_file::create_folder(&paths.run, 0o755)?;
        atomic_file::write_if_changed(&paths.nic_offloads_file(engine), self, Durability::Process).map(drop)
    }

    /// Adds what was found on at a NIC.
    pub fn add(&mut self, index: u32, mac: MacAddress, found_on: impl IntoIterator<Item = String>) {
        self.nics.retain(|nic| nic.index != index || nic.mac == mac);
        match self.nics.iter_mut().find(|nic| nic.index == index) {
            Some(nic) => nic.found_on.extend(found_on),
            None => self.nics.push(ChangedNic { index, mac, found_on: found_on.into_iter().collect() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::node_paths;

    #[test]
    fn what_was_found_is_kept_for_each_nic_and_engine() {
        let (_folder, paths) = node_paths();
        let engine = EngineKind::OpenVswitch;
        let mut file = NicOffloads::read(&paths, engine).unwrap();
        assert_eq!(file, NicOffloads::default());
        let [one, two] = ["02:00:00:00:00:01", "02:00:00:00:00:02"].map(|mac| mac.parse::<MacAddress>().unwrap());
        file.add(7, one, ["rx-gro".to_owned()]);
        file.add(8, two, ["rx-gro".to_owned()]);
        file.add(7, one, ["rx-lro".to_owned()]);
        file.write(&paths, engine).unwrap();
        let read = NicOffloads::read(&paths, engine).unwrap();
        assert_eq!(read.nics[0].found_on, ["rx-gro", "rx-lro"].map(str::to_owned).into());
        assert_eq!(read.nics.len(), 2);
        assert_eq!(NicOffloads::read(&paths, EngineKind::Vpp).unwrap(), NicOffloads::default());
        file.add(7, two, ["rx-gro".to_owned()]);
        assert_eq!(file.nics.iter().find(|nic| nic.index == 7).unwrap().mac, two, "another NIC after a reboot");
    }
}
