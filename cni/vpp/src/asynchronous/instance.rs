//! Distinguishes runs of VPP.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A run of VPP.
///
/// In a container its process has the same id after each restart, so its socket file, which it
/// creates at each start, is compared as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instance {
    /// VPP's process, in its own process namespace.
    pub pid: u32,
    /// The socket file.
    pub socket: SocketFile,
}

/// A socket file as the file system knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketFile {
    /// The file system.
    pub device: u64,
    /// The file's number in it. File systems give out numbers again.
    pub inode: u64,
    /// When the inode was last changed: seconds and nanoseconds.
    pub changed: (i64, i64),
}

impl SocketFile {
    /// Reads the metadata of the file.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let file = fs::metadata(path)?;
        Ok(Self { device: file.dev(), inode: file.ino(), changed: (file.ctime(), file.ctime_nsec()) })
    }
}
