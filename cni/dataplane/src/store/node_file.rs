//! The networks that the agent last selected for this node, so that a node can boot without the API
//! server.

use crate::store::atomic_file::{self, Durability};
use crate::store::paths::NodePaths;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use usnet_crds::{EngineKind, NetworkName, NodeNetwork};

/// Ten thousand networks need 20 MiB.
const SIZE_MAX: u64 = 256 << 20;

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read or written.
    #[error(transparent)]
    File(#[from] atomic_file::Error),
    /// An earlier release of usnet wrote it.
    #[error("{} has layout {found}, which this release of usnet no longer supports", path.display())]
    Older {
        /// The file.
        path: PathBuf,
        /// Its layout.
        found: u32,
    },
}

/// The last networks of this node. Only its agent reads and writes it, one at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeFile {
    /// The layout of this file; [`NodeFile::VERSION`] when written by this release.
    pub version: u32,
    /// The `metadata.generation` of the node state that the networks were selected for; 0 if there
    /// was none yet.
    pub generation: i64,
    /// The resourceVersion up to which all compiled networks were considered.
    #[serde(default)]
    pub through: u64,
    /// The networks, sorted by name.
    pub networks: Vec<Arc<NodeNetwork>>,
    /// The resourceVersions of the compiled networks that `networks` and `refused` were selected
    /// from.
    #[serde(default)]
    pub versions: BTreeMap<NetworkName, u64>,
    /// Networks that select the node and that it cannot have, sorted by name.
    #[serde(default)]
    pub refused: Vec<RefusedNetwork>,
    /// The engines that this node ever had. The agent waits for an engine that it had before and
    /// does not report one that it never had as missing.
    #[serde(default)]
    pub engines_seen: BTreeSet<EngineKind>,
    /// How often the agent saw each engine restart. It is preserved over restarts of the agent.
    #[serde(default)]
    pub epochs: BTreeMap<EngineKind, u64>,
}

/// A network that selects the node, but that the node cannot have as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusedNetwork {
    /// Its name.
    pub name: NetworkName,
    /// Its generation; 0 where that cannot be read.
    pub generation: i64,
    /// The engine that it is for; none where that cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineKind>,
    /// Why not, in CamelCase.
    pub reason: String,
    /// Why not, and what to do.
    pub message: String,
}

impl NodeFile {
    /// The layout that this release writes.
    pub const VERSION: u32 = 2;

    /// Reads the file of this node; `None` on a new node.
    ///
    /// # Errors
    /// The file cannot be read or is of another release.
    pub fn read(paths: &NodePaths) -> Result<Option<Self>, Error> {
        #[derive(Deserialize)]
        struct Header {
            version: u32,
        }
        let path = paths.node_file();
        match atomic_file::read(&path, Self::VERSION, SIZE_MAX)? {
            Some(Header { version: found }) if found < Self::VERSION => Err(Error::Older { path, found }),
            _ => Ok(atomic_file::read(&path, Self::VERSION, SIZE_MAX)?),
        }
    }

    /// Writes the file if its content changes. Returns whether it was written. It survives a loss
    /// of power once this returns.
    ///
    /// # Errors
    /// An I/O error.
    pub fn write(&self, paths: &NodePaths) -> Result<bool, Error> {
        atomic_file::create_folder(&paths.state, 0o700)?;
        Ok(atomic_file::write_if_changed(&paths.node_file(), self, Durability::Machine)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{network, node_paths};
    use std::fs;

    fn node_file() -> NodeFile {
        let name = network("blue").name;
        let refused = RefusedNetwork {
            name: "red".parse().unwrap(),
            generation: 2,
            engine: Some(EngineKind::Vpp),
            reason: "BridgeConflict".into(),
            message: "bridge br0 belongs to blue".into(),
        };
        NodeFile {
            version: NodeFile::VERSION,
            generation: 7,
            through: 48_120,
            networks: vec![Arc::new(network("blue"))],
            versions: BTreeMap::from([(name, 48_000)]),
            refused: vec![refused],
            engines_seen: BTreeSet::from([EngineKind::OpenVswitch]),
            epochs: BTreeMap::from([(EngineKind::OpenVswitch, 2), (EngineKind::Vpp, 5)]),
        }
    }

    #[test]
    fn a_new_node_has_none_and_a_written_one_comes_back() {
        let (_folder, paths) = node_paths();
        assert_eq!(NodeFile::read(&paths).unwrap(), None);
        assert!(node_file().write(&paths).unwrap());
        assert_eq!(NodeFile::read(&paths).unwrap(), Some(node_file()));
    }

    #[test]
    fn the_same_content_is_not_written_again() {
        let (_folder, paths) = node_paths();
        node_file().write(&paths).unwrap();
        assert!(!node_file().write(&paths).unwrap());
        assert!(NodeFile { generation: 8, ..node_file() }.write(&paths).unwrap());
    }

    #[test]
    fn a_damaged_older_or_newer_file_is_an_error_and_not_an_empty_node() {
        let (_folder, paths) = node_paths();
        node_file().write(&paths).unwrap();
        fs::write(paths.node_file(), "{\"version\":2,\"networks\":").unwrap();
        assert!(matches!(NodeFile::read(&paths), Err(Error::File(atomic_file::Error::Invalid { .. }))));
        fs::write(paths.node_file(), "{\"version\":3,\"networks\":\"elsewhere\"}").unwrap();
        let newer = NodeFile::read(&paths);
        assert!(matches!(newer, Err(Error::File(atomic_file::Error::Newer { found: 3, known: 2, .. }))), "{newer:?}");
        fs::write(paths.node_file(), "{\"version\":1,\"networks\":\"elsewhere\"}").unwrap();
        assert!(matches!(NodeFile::read(&paths), Err(Error::Older { found: 1, .. })));
    }
}
