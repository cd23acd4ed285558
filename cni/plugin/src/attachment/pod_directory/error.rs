//! The errors of a pod's directory.

use crate::protocol::error::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};
use usnet_dataplane::attachment::Pod;
use usnet_dataplane::journal;

#[derive(Debug, thiserror::Error)]
pub enum PodDirectoryError {
    /// The pod does not declare the volume, or no container mounts it. `path` is where kubelet
    /// would create it.
    #[error(
        "pod {pod} has no emptyDir volume \"{volume}\" that a container mounts (expected at {}): the pod needs `volumes: [{{name: {volume}, emptyDir: {{}}}}]`, and its container `volumeMounts: [{{name: {volume}, mountPath: /run/usnet}}]`",
        path.display()
    )]
    NoVolume { pod: Pod, volume: Box<str>, path: PathBuf },
    #[error("{} is not a directory, so it is neither an emptyDir volume of kubelet nor a folder that usnet created", .0.display())]
    NotADirectory(PathBuf),
    #[error(
        "running containers of the pod have another folder of device {} mounted than the engine would use: an interface with a device cannot be attached again, or later, to a running pod; delete the pod so that it is recreated",
        .0.file_name().unwrap_or_default().display()
    )]
    OtherDeviceFolder(PathBuf),
    #[error(
        "running containers of the pod would not see the socket on which the engine listens: an interface with `engineRole: Server` of Open vSwitch cannot be attached later; delete the pod so that it is recreated"
    )]
    RunningContainers,
    #[error("cannot {action} {}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    /// The pod occupies the path of one of our files.
    #[error(
        "cannot {action} {file:?} in the folder that the pod shares with the engine: the pod occupies its path or has filled the volume"
    )]
    PathOccupied { action: &'static str, file: String, source: io::Error },
    #[error("this node's kernel does not support the mount option nosymfollow: Linux 5.10 or later is needed")]
    NosymfollowUnsupported,
    /// The plugin runs in a mount namespace whose mounts the node does not see.
    #[error(
        "the engine would not see the pod's sockets: this plugin was called in a container whose mounts on {} are not propagated to the node, as in the daemon of Multus with its own manifest; set `mountPropagation: Bidirectional` for the volume mount \"hostroot\" of its DaemonSet", .0.display()
    )]
    NotPropagated(PathBuf),
    #[error("another process holds the lock of {}; try again", .0.display())]
    Busy(PathBuf),
    #[error("cannot determine whether another interface of the pod is attached")]
    Journal(#[from] journal::Error),
}

impl PodDirectoryError {
    /// Whether a file or folder does not exist.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoVolume { .. }
            | Self::NotADirectory(_)
            | Self::OtherDeviceFolder(_)
            | Self::RunningContainers
            | Self::PathOccupied { .. } => ErrorCode::PodVolume,
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
