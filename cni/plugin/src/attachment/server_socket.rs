//! The socket of an engine that listens and creates its sockets at a place of its own: moved to a
//! folder that has it alone, which is mounted in the pod's directory. IO.

use super::engine::drivers;
use super::pod_directory::{PodDirectory, PodDirectoryError};
use super::pod_files::names::socket_of;
use crate::protocol::error::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};
use usnet_dataplane::attachment::Record;

#[derive(Debug, thiserror::Error)]
pub enum ServerSocketError {
    #[error(
        "the engine created the port but not its socket {}: it must create sockets in the folder of its control socket; remove other_config:vhost-sock-dir of Open vSwitch and restart it",
        .0.display()
    )]
    NotCreated(PathBuf),
    #[error("cannot move socket {} to the folder for its pod", path.display())]
    Move { path: PathBuf, source: io::Error },
    #[error("cannot remove {}, the folder of a socket", path.display())]
    Remove { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Directory(#[from] PodDirectoryError),
}

impl ServerSocketError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotCreated(_) | Self::Move { .. } | Self::Remove { .. } => ErrorCode::IoFailure,
            Self::Directory(error) => error.code(),
        }
    }
}

/// Whether the engine of an attachment creates its socket at a place of its own.
pub fn has_own_place(record: &Record) -> bool {
    drivers::server_socket(record).is_some()
}

/// The file of the socket on the node, of any port that has one.
pub fn path_on_node(record: &Record) -> Option<PathBuf> {
    match (drivers::server_socket(record), socket_of(record)) {
        (Some(socket), Some(file)) => Some(socket.folder().join(file)),
        _ => record.port.backend.socket_file().map(Path::to_owned),
    }
}

/// The path of the socket from the pod's directory, where the pod cannot follow the link to it.
pub fn path_without_link(record: &Record, directory: &PodDirectory) -> Option<String> {
    let file = socket_of(record).filter(|_| has_own_place(record) && !directory.follows_links())?;
    Some(format!("{}/{file}", PodDirectory::engine_folder(record.port.name.as_str())))
}

/// Lets the pod connect to the socket that the engine has created at a place of its own.
///
/// # Errors
/// The pod cannot connect.
pub fn publish(record: &Record, directory: &PodDirectory) -> Result<(), ServerSocketError> {
    let (Some(socket), Some(file)) = (drivers::server_socket(record), socket_of(record)) else { return Ok(()) };
    match socket.take(&file) {
        Ok(true) => Ok(directory.mount_engine_folder(record.port.name.as_str(), socket.folder(), &file)?),
        Ok(false) => Err(ServerSocketError::NotCreated(socket.created().to_owned())),
        Err(source) => Err(ServerSocketError::Move { path: socket.created().to_owned(), source }),
    }
}

/// Whether the pod sees the folder of the socket, if it needs one.
pub fn is_published(record: &Record, directory: &PodDirectory) -> bool {
    drivers::server_socket(record)
        .is_none_or(|socket| directory.has_engine_folder(record.port.name.as_str(), socket.folder()))
}

/// Removes what [`publish`] did. What is gone already is not an error.
///
/// # Errors
/// Something of it remains.
pub fn withdraw(record: &Record, directory: &PodDirectory) -> Result<(), ServerSocketError> {
    let Some(socket) = drivers::server_socket(record) else { return Ok(()) };
    directory.unmount_engine_folder(record.port.name.as_str())?;
    socket.remove().map_err(|source| ServerSocketError::Remove { path: socket.folder().to_owned(), source })
}
