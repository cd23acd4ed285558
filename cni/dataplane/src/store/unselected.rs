//! Why networks are not on this node, written by the agent for the plugin: without it the plugin
//! could only guess why there is no [`network_file`](crate::network_file).

use crate::store::atomic_file::{self, Durability};
use crate::store::paths::NodePaths;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use usnet_crds::NetworkName;

pub use crate::store::atomic_file::Error;

/// Largest file that is read, in bytes: [`Unselected::MAX`] sentences, each with a shortened
/// selector and a label, have a quarter of it.
const SIZE_MAX: u64 = 2 << 20;

/// The networks that are not on this node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unselected {
    /// The layout of this file; [`Unselected::VERSION`] when written by this release.
    pub version: u32,
    /// Why each of them is not, for users.
    pub networks: BTreeMap<NetworkName, String>,
    /// How many more there are.
    #[serde(default)]
    pub omitted: usize,
}

impl Unselected {
    /// The layout that this release writes.
    pub const VERSION: u32 = 1;
    /// Most networks in the file. In a cluster with thousands of networks a node has a few of them.
    pub const MAX: usize = 512;

    /// The first of these networks.
    pub fn new(all: impl Iterator<Item = (NetworkName, String)>) -> Self {
        let mut all = all.fuse();
        let networks = all.by_ref().take(Self::MAX).collect();
        Self { version: Self::VERSION, networks, omitted: all.count() }
    }

    /// Why a network is not on this node; none if the agent did not say.
    ///
    /// # Errors
    /// The file cannot be read or was written by a later release.
    pub fn reason(paths: &NodePaths, name: &NetworkName) -> Result<Option<String>, Error> {
        let file = atomic_file::read::<Self>(&paths.unselected_file(), Self::VERSION, SIZE_MAX)?;
        Ok(file.and_then(|mut file| file.networks.remove(name)))
    }

    /// Writes the file.
    pub fn write(&self, paths: &NodePaths) -> Result<(), Error> {
        // Not for root only: engines may run as another user and have sockets below this directory.
        atomic_file::create_folder(&paths.run, 0o755)?;
        atomic_file::write_if_changed(&paths.unselected_file(), self, Durability::Process).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::node_paths;

    #[test]
    fn reasons_are_read_back_and_the_file_is_bounded() {
        let (_folder, paths) = node_paths();
        let blue = "blue".parse().unwrap();
        assert_eq!(Unselected::reason(&paths, &blue).unwrap(), None);
        Unselected::new([(blue.clone(), "no label".to_owned())].into_iter()).write(&paths).unwrap();
        assert_eq!(Unselected::reason(&paths, &blue).unwrap().as_deref(), Some("no label"));
        let many = (0..600).map(|number| (format!("n-{number}").parse().unwrap(), String::new()));
        let many = Unselected::new(many);
        assert_eq!((many.networks.len(), many.omitted), (Unselected::MAX, 600 - Unselected::MAX));
    }
}
