//! The networks that the agent last selected for this node, so that a node can boot without the API
//! server.
//!
//! The file begins with all of them. What changes later is appended as a line: with a thousand
//! networks, all of them have more than a megabyte, and each change would have to write it.

mod change;

use crate::store::atomic_file::{self, Durability};
use crate::store::paths::NodePaths;
use change::NodeFileChange;
use nix::libc;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use usnet_crds::{EngineKind, NetworkName, NodeNetwork, NodeUplink, UplinkName};

/// Ten thousand networks need 20 MiB.
const SIZE_MAX: u64 = 256 << 20;

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] atomic_file::Error),
    /// An earlier release of usnet wrote it.
    #[error("{} has layout {found}, which this release of usnet no longer supports", path.display())]
    Older { path: PathBuf, found: u32 },
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
    /// The uplinks of the node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub uplinks: BTreeMap<UplinkName, Arc<NodeUplink>>,
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
    pub name: NetworkName,
    /// The generation of the spec; 0 where that cannot be read.
    pub generation: i64,
    /// The engine that it is for; none where that cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineKind>,
    pub reason: String,
    /// Why not, and what to do.
    pub message: String,
}

impl NodeFile {
    /// The layout that this release writes.
    pub const VERSION: u32 = 3;

    /// Reads the file of this node; `None` on a new node.
    ///
    /// # Errors
    /// The file cannot be read or is of another release.
    pub fn read(paths: &NodePaths) -> Result<Option<Self>, Error> {
        let path = paths.node_file();
        match atomic_file::read_text(&path, SIZE_MAX)? {
            Some(text) => Self::parse(&path, &text),
            None => Ok(None),
        }
    }

    /// Parses the content of the file at `path`. A change that is cut at the end does not count.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(path: &Path, text: &[u8]) -> Result<Option<Self>, Error> {
        #[derive(Deserialize)]
        struct Header {
            version: u32,
        }
        let invalid = |source| atomic_file::Error::Invalid { path: path.to_owned(), source };
        let mut values = serde_json::Deserializer::from_slice(text).into_iter::<&RawValue>();
        let Some(whole) = values.next() else { return Ok(None) };
        let whole = whole.map_err(invalid)?.get().as_bytes();
        match atomic_file::parse(path, whole, Self::VERSION)? {
            Some(Header { version: found }) if found < Self::VERSION => {
                return Err(Error::Older { path: path.to_owned(), found });
            }
            _ => {}
        }
        let Some(mut file) = atomic_file::parse::<Self>(path, whole, Self::VERSION)? else { return Ok(None) };
        for change in values {
            let change = match change {
                Err(error) if error.is_eof() => break,
                change => change.map_err(invalid)?,
            };
            let change: NodeFileChange = serde_json::from_str(change.get()).map_err(invalid)?;
            change.apply_to(&mut file);
        }
        Ok(Some(file))
    }

    /// Writes the file as a whole. It survives a loss of power once this returns. Returns its size.
    pub fn write(&self, paths: &NodePaths) -> Result<u64, Error> {
        atomic_file::create_folder(&paths.state, 0o700)?;
        let text = atomic_file::encode(&paths.node_file(), self)?;
        atomic_file::write_text(&paths.node_file(), &text, Durability::Machine)?;
        Ok(u64::try_from(text.len()).unwrap_or(u64::MAX))
    }

    /// Appends to the file how this differs from `last`, which the file has to contain. It survives
    /// the end of the agent once this returns, and a loss of power once it is synced. Returns how
    /// much was appended.
    ///
    /// # Errors
    /// An I/O error. Then the file may end in the middle of a line, and has to be written as a
    /// whole.
    pub fn append(&self, paths: &NodePaths, last: &Self) -> Result<u64, Error> {
        let path = paths.node_file();
        let mut line = vec![b'\n'];
        let encoded = serde_json::to_writer(&mut line, &NodeFileChange::between(last, self));
        encoded.map_err(|source| atomic_file::Error::Invalid { path: path.clone(), source })?;
        let failed = |error| atomic_file::Error::file("append to", &path, error);
        let mut options = OpenOptions::new();
        let mut file = options.append(true).custom_flags(libc::O_NOFOLLOW).open(&path).map_err(failed)?;
        file.write_all(&line).map_err(failed)?;
        Ok(u64::try_from(line.len()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests;
