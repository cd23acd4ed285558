//! What the agent was last told to have on this node, so that a node that boots without the API server gets its networks back.

use crate::document::{self, Durability};
use crate::roots::Roots;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{Engine, NodeNetwork};

pub use crate::document::Error;

/// The last networks of this node. Only its agent reads and writes it, one at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeFile {
    /// The layout of this file; [`NodeFile::VERSION`] when written by this release.
    pub version: u32,
    /// The `metadata.generation` of the node state that it was taken from.
    pub generation: i64,
    /// The networks.
    pub networks: Vec<NodeNetwork>,
    /// The engines that this node ever had. One that is gone is waited for, one that never was is not missed.
    #[serde(default)]
    pub engines_seen: BTreeSet<Engine>,
    /// How often the agent saw each engine come back. It goes on counting over restarts of the agent.
    #[serde(default, alias = "epoch", deserialize_with = "epochs")]
    pub epochs: BTreeMap<Engine, u64>,
}

/// Before there was a second engine, the one number was that of Open vSwitch.
fn epochs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<Engine, u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Epochs {
        OfOpenVswitch(u64),
        OfEach(BTreeMap<Engine, u64>),
    }
    Ok(match Epochs::deserialize(deserializer)? {
        Epochs::OfOpenVswitch(epoch) => BTreeMap::from([(Engine::OpenVswitch, epoch)]),
        Epochs::OfEach(epochs) => epochs,
    })
}

impl NodeFile {
    /// The layout that this release writes.
    pub const VERSION: u32 = 1;

    /// The file of this node; nothing on a node that is new.
    ///
    /// # Errors
    /// When there is a file that cannot be read or is of a later release.
    pub fn read(roots: &Roots) -> Result<Option<Self>, Error> {
        document::read(&roots.node_file(), Self::VERSION)
    }

    /// Writes the file if that changes it, and says whether it did. It outlives a loss of power once this returns.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn write(&self, roots: &Roots) -> Result<bool, Error> {
        document::make_folder(&roots.state, 0o700)?;
        document::write_if_changed(&roots.node_file(), self, Durability::Machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{network, roots};
    use std::fs;

    fn node_file() -> NodeFile {
        NodeFile {
            version: NodeFile::VERSION,
            generation: 7,
            networks: vec![network("blue")],
            engines_seen: BTreeSet::from([Engine::OpenVswitch]),
            epochs: BTreeMap::from([(Engine::OpenVswitch, 2), (Engine::Vpp, 5)]),
        }
    }

    #[test]
    fn a_new_node_has_none_and_a_written_one_comes_back() {
        let (_folder, roots) = roots();
        assert_eq!(NodeFile::read(&roots).unwrap(), None);
        assert!(node_file().write(&roots).unwrap());
        assert_eq!(NodeFile::read(&roots).unwrap(), Some(node_file()));
    }

    #[test]
    fn the_same_content_is_not_written_again() {
        let (_folder, roots) = roots();
        node_file().write(&roots).unwrap();
        assert!(!node_file().write(&roots).unwrap());
        assert!(NodeFile { generation: 8, ..node_file() }.write(&roots).unwrap());
    }

    #[test]
    fn the_one_number_of_an_earlier_release_is_that_of_open_vswitch() {
        let (_folder, roots) = roots();
        node_file().write(&roots).unwrap();
        fs::write(roots.node_file(), "{\"version\":1,\"generation\":3,\"networks\":[],\"epoch\":4}").unwrap();
        let read = NodeFile::read(&roots).unwrap().unwrap();
        assert_eq!(read.epochs, BTreeMap::from([(Engine::OpenVswitch, 4)]));
    }

    #[test]
    fn a_damaged_or_newer_file_is_an_error_and_not_an_empty_node() {
        let (_folder, roots) = roots();
        node_file().write(&roots).unwrap();
        fs::write(roots.node_file(), "{\"version\":1,\"networks\":").unwrap();
        assert!(matches!(NodeFile::read(&roots), Err(Error::Invalid { .. })));
        fs::write(roots.node_file(), "{\"version\":2,\"networks\":\"elsewhere\"}").unwrap();
        assert!(matches!(NodeFile::read(&roots), Err(Error::Newer { found: 2, known: 1, .. })));
    }
}
