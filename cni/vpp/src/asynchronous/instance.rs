//! The identity of a run of VPP.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A run of VPP.
///
/// In a container its process has the same id after each restart. Therefore its socket file, which
/// it creates at each start, is compared as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instance {
    /// The id of VPP's process in its own process namespace.
    pub pid: u32,
    pub socket: SocketFile,
}

/// The identity of a socket file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketFile {
    /// The number of the file system.
    pub device: u64,
    /// The number of the file in its file system, which may be reused.
    pub inode: u64,
    /// The time of the last change of the inode, in seconds and nanoseconds.
    pub changed: (i64, i64),
}

impl SocketFile {
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let file = fs::metadata(path)?;
        Ok(Self { device: file.dev(), inode: file.ino(), changed: (file.ctime(), file.ctime_nsec()) })
    }
}
