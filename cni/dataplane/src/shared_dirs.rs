//! The folders of the node under which definitions of the older userspace CNI may name one, as `sharedDir`, to meet their pods in. The agent is told of them and tells the plugin.

use crate::atomic_file::{self, Durability};
use crate::paths::NodePaths;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

pub use crate::atomic_file::Error;

/// The folders that are allowed. Without the file there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedDirs {
    /// The layout of this file; [`SharedDirs::VERSION`] when written by this release.
    pub version: u32,
    /// Absolute paths. They are folders of root's alone.
    pub roots: Vec<PathBuf>,
}

impl SharedDirs {
    /// The layout that this release writes.
    pub const VERSION: u32 = 1;

    /// What the agent said; nothing is allowed before it said anything.
    ///
    /// # Errors
    /// When there is a file that cannot be read or is of a later release.
    pub fn read(paths: &NodePaths) -> Result<Self, Error> {
        Ok(atomic_file::read(&paths.shared_dirs_file(), Self::VERSION)?.unwrap_or_default())
    }

    /// Allows these folders and no others.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn allow(paths: &NodePaths, folders: Vec<PathBuf>) -> Result<(), Error> {
        // Engines need not run as root and find sockets below.
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
    fn nothing_is_allowed_until_somebody_says_so_and_no_longer_than_that() {
        let (_folder, paths) = node_paths();
        assert_eq!(SharedDirs::read(&paths).unwrap().roots, Vec::<PathBuf>::new());
        SharedDirs::allow(&paths, vec!["/var/run/old".into()]).unwrap();
        assert_eq!(SharedDirs::read(&paths).unwrap().roots, [PathBuf::from("/var/run/old")]);
        SharedDirs::allow(&paths, Vec::new()).unwrap();
        assert_eq!(SharedDirs::read(&paths).unwrap().roots, Vec::<PathBuf>::new());
    }
}
