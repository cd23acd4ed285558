//! The files of usnet and of the engine in a pod's directory. The pod may change anything in it at
//! any moment.

use super::error::PodDirectoryError;
use nix::errno::Errno;
use nix::libc;
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Writes or replaces a file of the pod's directory, which is mounted at `mount`. The pod's users
/// may read it. The replacement is atomic for readers.
pub(super) fn write(mount: &Path, file: &str, content: &[u8]) -> Result<(), PodDirectoryError> {
    let failed = |action| move |source| PodDirectoryError::PathOccupied { action, file: file.to_owned(), source };
    let temporary = mount.join(format!(".{file}.new"));
    // The pod may create a file there at any moment, so that existing files are never opened and no
    // link is followed.
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).custom_flags(libc::O_NOFOLLOW).mode(0o644);
    let mut opened = match options.open(&temporary) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            remove_file(&temporary).map_err(failed("prepare"))?;
            options.open(&temporary).map_err(failed("create"))?
        }
        opened => opened.map_err(failed("create"))?,
    };
    opened.set_permissions(Permissions::from_mode(0o644)).map_err(failed("set the permissions of"))?;
    opened.write_all(content).map_err(failed("write"))?;
    fs::rename(&temporary, mount.join(file)).map_err(failed("replace"))
}

/// Lets the pod's users connect to a socket that the engine created: they need not be root, and
/// engines create sockets without access for others. If the pod replaced the socket, the
/// replacement is kept as it is.
pub(super) fn set_socket_permissions(mount: &Path, file: &str) -> Result<(), PodDirectoryError> {
    let failed =
        |source| PodDirectoryError::PathOccupied { action: "set the permissions of", file: file.to_owned(), source };
    let flags = libc::O_PATH | libc::O_NOFOLLOW;
    let opened = match OpenOptions::new().read(true).custom_flags(flags).open(mount.join(file)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(failed)?,
    };
    if !opened.metadata().map_err(failed)?.file_type().is_socket() {
        return Ok(());
    }
    // Changed by the descriptor, so that it is the file that was checked.
    let descriptor = format!("/proc/self/fd/{}", opened.as_raw_fd());
    fs::set_permissions(descriptor, Permissions::from_mode(0o777)).map_err(failed)
}

/// Removes a file or a link of that name from a directory, if it exists. A directory is an error.
pub(super) fn remove(directory: &Path, file: &str) -> Result<(), PodDirectoryError> {
    let failed = |source| PodDirectoryError::PathOccupied { action: "remove", file: file.to_owned(), source };
    remove_file(&directory.join(file)).map_err(failed)
}

/// The same in an open directory, of which no path is looked up.
pub(super) fn remove_from(directory: &File, file: &str) -> Result<(), PodDirectoryError> {
    match unlinkat(directory, file, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(error) => {
            Err(PodDirectoryError::PathOccupied { action: "remove", file: file.to_owned(), source: error.into() })
        }
    }
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
