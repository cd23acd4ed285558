//! Tells a file from a later one at the same path (IO).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Distinguishes a file from a later one of the same name. The inode number alone does not: it may
/// be reused at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    inode: (u64, u64),
    changed: (i64, i64),
}

impl FileIdentity {
    /// The file at this path; none if there is none, or it cannot be read.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::symlink_metadata(path).ok()?;
        Some(Self { inode: (metadata.dev(), metadata.ino()), changed: (metadata.ctime(), metadata.ctime_nsec()) })
    }
}
