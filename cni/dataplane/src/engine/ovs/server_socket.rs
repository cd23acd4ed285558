//! Sockets on which Open vSwitch listens, ports of the type `dpdkvhostuser` (IO).
//!
//! The switch creates such a socket in its run directory, under the name of the port. Its control
//! sockets are there, too, so that no pod may see this directory. Therefore the socket is moved to
//! a folder below it, which has nothing else, and which the pod gets. Moved and not linked: a
//! switch that is killed leaves its sockets, and does not start a port whose socket exists.

use crate::model::port::PortName;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Below the run directory: the folders of the sockets, named after their ports.
const FOLDERS: &str = "usnet";

/// The socket of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSocket {
    /// Where the switch creates it.
    created: PathBuf,
    folder: PathBuf,
}

impl ServerSocket {
    /// The socket of this port, of the switch whose database listens at `database`.
    pub fn new(database: &Path, port: &PortName) -> Self {
        Self::in_run_directory(database.parent().unwrap_or(Path::new("/")), port.as_str())
    }

    /// The socket of the port of this name, of the switch with this run directory.
    pub fn in_run_directory(run_directory: &Path, port: &str) -> Self {
        Self { created: run_directory.join(port), folder: run_directory.join(FOLDERS).join(port) }
    }

    /// Where the switch creates it.
    pub fn created(&self) -> &Path {
        &self.created
    }

    /// The folder that has the socket alone.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Moves the socket to its folder, as the file of this name. Returns `false`, without a change,
    /// if the switch has not created it.
    ///
    /// # Errors
    /// The folder cannot be created or changed.
    pub fn take(&self, file: &str) -> io::Result<bool> {
        if !is_socket(&self.created)? {
            return Ok(false);
        }
        if let Some(folders) = self.folder.parent() {
            // Users of the node may not enter: all may connect to the sockets.
            create_folder(folders, 0o700)?;
        }
        create_folder(&self.folder, 0o755)?;
        // Programs in pods need not be root.
        fs::set_permissions(&self.created, Permissions::from_mode(0o777))?;
        fs::rename(&self.created, self.folder.join(file)).map(|()| true)
    }

    /// Removes the folder with the socket.
    ///
    /// # Errors
    /// Something of it remains.
    pub fn remove(&self) -> io::Result<()> {
        ignore_missing(fs::remove_dir_all(&self.folder))
    }
}

/// The names of the ports whose sockets have folders in a run directory.
pub fn ports_with_folders(run_directory: &Path) -> Vec<String> {
    let folders = fs::read_dir(run_directory.join(FOLDERS)).into_iter().flatten().flatten();
    folders.filter_map(|folder| folder.file_name().into_string().ok()).collect()
}

/// Moves the sockets that a switch has created again, as it does when it starts, to the folders
/// that have their predecessors. Each port that failed is among the results with its error.
pub fn take_again(run_directory: &Path) -> Vec<(String, io::Error)> {
    let mut failed = Vec::new();
    for port in ports_with_folders(run_directory) {
        let socket = ServerSocket::in_run_directory(run_directory, &port);
        if let Err(error) = take_one_again(&socket) {
            failed.push((port, error));
        }
    }
    failed
}

fn take_one_again(socket: &ServerSocket) -> io::Result<()> {
    if !is_socket(&socket.created)? {
        return Ok(());
    }
    // The plugin moves the first one, and removes the folder with the port.
    let Some(predecessor) = fs::read_dir(&socket.folder)?.next().transpose()? else { return Ok(()) };
    match predecessor.file_name().to_str() {
        Some(file) => socket.take(file).map(drop),
        None => Ok(()),
    }
}

fn is_socket(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(found.file_type().is_socket()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn create_folder(path: &Path, mode: u32) -> io::Result<()> {
    match DirBuilder::new().mode(mode).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        // Not what the umask made of it.
        created => created.and_then(|()| fs::set_permissions(path, Permissions::from_mode(mode))),
    }
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::{UnixListener, UnixStream};

    fn port(name: &str) -> PortName {
        PortName::observed(name)
    }

    #[test]
    fn the_pod_gets_a_folder_with_its_socket_alone_and_that_of_a_restarted_switch() {
        let run = tempfile::tempdir().unwrap();
        let socket = ServerSocket::new(&run.path().join("db.sock"), &port("vhu1"));
        assert!(!socket.take("net1.sock").unwrap() && !socket.folder().exists());
        let first = UnixListener::bind(socket.created()).unwrap();
        assert!(socket.take("net1.sock").unwrap());
        let place = socket.folder().join("net1.sock");
        assert_eq!(fs::read_dir(socket.folder()).unwrap().count(), 1);
        assert!(UnixStream::connect(&place).is_ok() && !socket.created().exists());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(socket.folder().parent().unwrap()), 0o700);
        assert_eq!((mode(socket.folder()), mode(&place)), (0o755, 0o777));
        // Nothing was created again.
        assert!(take_again(run.path()).is_empty() && UnixStream::connect(&place).is_ok());

        drop(first);
        assert!(UnixStream::connect(&place).is_err());
        let _second = UnixListener::bind(socket.created()).unwrap();
        assert!(take_again(run.path()).is_empty());
        assert!(UnixStream::connect(&place).is_ok() && !socket.created().exists());
        socket.remove().unwrap();
        socket.remove().unwrap();
        assert!(!socket.folder().exists());
    }

    #[test]
    fn what_is_no_socket_of_a_port_stays_where_it_is() {
        let run = tempfile::tempdir().unwrap();
        let socket = ServerSocket::new(&run.path().join("db.sock"), &port("vhu1"));
        fs::write(socket.created(), "a file").unwrap();
        assert!(!socket.take("net1.sock").unwrap() && socket.created().exists());
        let _control = UnixListener::bind(run.path().join("db.sock")).unwrap();
        // The plugin has not moved the first one yet.
        fs::create_dir_all(run.path().join("usnet/vhu2")).unwrap();
        let _other = UnixListener::bind(run.path().join("vhu2")).unwrap();
        assert!(take_again(run.path()).is_empty());
        assert!(run.path().join("db.sock").exists() && run.path().join("vhu2").exists());
    }
}
