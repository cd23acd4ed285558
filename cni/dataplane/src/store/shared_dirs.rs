//! The host directories that NADs of the legacy userspace CNI may name as `sharedDir`, for sockets
//! shared with pods. They are configured at the agent, which writes this file for the plugin.

use crate::store::atomic_file::{self, Durability};
use crate::store::paths::NodePaths;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

pub use crate::store::atomic_file::Error;

/// A thousand long paths need less.
const SIZE_MAX: u64 = 1 << 20;

/// The allowed directories. Without the file there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedDirs {
    /// The layout of this file; [`SharedDirs::VERSION`] when written by this release.
    pub version: u32,
    /// Absolute paths of directories that only root can write to.
    pub roots: Vec<PathBuf>,
}

impl SharedDirs {
    /// The layout that this release writes.
    pub const VERSION: u32 = 1;

    /// Reads the file; nothing is allowed before the agent has written it.
    ///
    /// # Errors
    /// The file cannot be read or was written by a later release.
    pub fn read(paths: &NodePaths) -> Result<Self, Error> {
        Ok(atomic_file::read(&paths.shared_dirs_file(), Self::VERSION, SIZE_MAX)?.unwrap_or_default())
    }

    /// Allows these directories and no others.
    pub fn allow(paths: &NodePaths, folders: Vec<PathBuf>) -> Result<(), Error> {
        // Not for root only: engines may run as another user and have sockets below this directory.
        atomic_file::create_folder(&paths.run, 0o755)?;
        let all = Self { version: Self::VERSION, roots: folders };
        atomic_file::write_if_changed(&paths.shared_dirs_file(), &all, Durability::Process).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::node_paths;

    #[test]
    fn nothing_is_allowed_unless_the_file_allows_it() {
        let (_folder, paths) = node_paths();
        assert_eq!(SharedDirs::read(&paths).unwrap().roots, Vec::<PathBuf>::new());
        SharedDirs::allow(&paths, vec!["/var/run/old".into()]).unwrap();
        assert_eq!(SharedDirs::read(&paths).unwrap().roots, [PathBuf::from("/var/run/old")]);
        SharedDirs::allow(&paths, Vec::new()).unwrap();
        assert_eq!(SharedDirs::read(&paths).unwrap().roots, Vec::<PathBuf>::new());
    }
}
