//! Why a pod's directory cannot be used.

use crate::protocol::error::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};
use usnet_dataplane::attachment::Pod;
use usnet_dataplane::journal;

/// Why a pod's directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PodDirectoryError {
    /// The pod does not declare the volume.
    #[error(
        "pod {pod} has no emptyDir volume \"{volume}\" (expected at {}): add `volumes: [{{name: {volume}, emptyDir: {{}}}}]` to the pod and mount it in the container, for example at /run/usnet",
        path.display()
    )]
    NoVolume {
        /// The pod.
        pod: Pod,
        /// The name of the volume.
        volume: Box<str>,
        /// Where kubelet would create it.
        path: PathBuf,
    },
    /// The path of the volume is not a directory.
    #[error("{} is not a directory, so it is neither an emptyDir volume of kubelet nor a folder that usnet created", .0.display())]
    NotADirectory(PathBuf),
    /// Containers have an older folder of the device.
    #[error(
        "containers of the pod run, and what they have mounted as the folder of device {} is not what the engine would use: interfaces with a device cannot be attached again, or be attached later, to a running pod; delete the pod so that it is recreated",
        .0.file_name().unwrap_or_default().display()
    )]
    OtherDeviceFolder(PathBuf),
    /// A file or folder cannot be used.
    #[error("cannot {action} {}", path.display())]
    File {
        /// The operation.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The pod occupies the path of one of our files.
    #[error(
        "cannot {action} {file:?} in the folder that the pod shares with the engine: the pod occupies its path or has filled the volume"
    )]
    PathOccupied {
        /// The operation.
        action: &'static str,
        /// The name of the file.
        file: String,
        /// Why not.
        source: io::Error,
    },
    /// The kernel does not support `nosymfollow`.
    #[error("this node's kernel does not support the mount option nosymfollow: Linux 5.10 or later is needed")]
    NosymfollowUnsupported,
    /// The plugin runs in a mount namespace whose mounts the node does not see.
    #[error(
        "the engine would not see the pod's sockets: this plugin was called in a container that keeps mounts on {} to itself, as the daemon of Multus does by its own manifest; set `mountPropagation: Bidirectional` for the volume mount \"hostroot\" of its DaemonSet", .0.display()
    )]
    NotPropagated(PathBuf),
    /// Another process holds the lock for too long.
    #[error("another process holds the lock of {}; try again", .0.display())]
    Busy(PathBuf),
    /// The other users of the directory are unknown.
    #[error("cannot determine whether another interface of the pod is attached")]
    Journal(#[from] journal::Error),
}

impl PodDirectoryError {
    /// The CNI code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoVolume { .. } | Self::NotADirectory(_) | Self::OtherDeviceFolder(_) | Self::PathOccupied { .. } => {
                ErrorCode::PodVolume
            }
            Self::Busy(_) => ErrorCode::TryAgainLater,
            Self::File { .. } | Self::NosymfollowUnsupported | Self::NotPropagated(_) | Self::Journal(_) => {
                ErrorCode::IoFailure
            }
        }
    }
}

pub(super) fn file_error(action: &'static str, path: &Path, source: io::Error) -> PodDirectoryError {
    PodDirectoryError::File { action, path: path.to_owned(), source }
}
