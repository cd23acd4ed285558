//! Tells one run of VPP from another.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A run of VPP.
///
/// In a container its process has the same id after each restart, so its socket file, which it makes anew at each start,
/// counts as well.
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
    /// Looks at the file.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let file = fs::metadata(path)?;
        Ok(Self { device: file.dev(), inode: file.ino(), changed: (file.ctime(), file.ctime_nsec()) })
    }
}
