//! Errors of requests to a bridge.

use crate::flow::GroupId;
use crate::wire::Malformed;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use usnet_transport::TransferError;

#[derive(Debug, thiserror::Error)]
pub enum OpenFlowError {
    /// The socket does not exist, or does not accept connections.
    #[error("cannot connect to {}: does ovs-vswitchd run, and may this program use its sockets?", socket.display())]
    Connect { socket: PathBuf, source: io::Error },
    /// The switch does not answer in time, or has ended.
    #[error("no answer at {}: does ovs-vswitchd run?", socket.display())]
    Transfer { socket: PathBuf, source: TransferError },
    /// The received bytes are not OpenFlow.
    #[error("{} sent what is not OpenFlow", socket.display())]
    Protocol { socket: PathBuf, source: Malformed },
    /// The bridge is restricted to other versions.
    #[error("{} does not offer OpenFlow 1.4: set the bridge's `protocols` to [] or add OpenFlow14", .0.display())]
    Version(PathBuf),
    /// The switch refused a request.
    #[error("{} refused a request of OpenFlow with type {kind}, code {code}", socket.display())]
    Refused { socket: PathBuf, kind: u16, code: u16 },
    /// The switch refused a change, counted from 0. None of its bundle was carried out.
    #[error("{} refused change {position} of a bundle with type {kind}, code {code}", socket.display())]
    ChangeRefused { socket: PathBuf, position: usize, kind: u16, code: u16 },
    /// A bundle has a flow to a group that it does not set. It was not sent.
    #[error("a bundle has a flow to group {}, which it does not set before", .0.0)]
    UnsetGroup(GroupId),
}

impl OpenFlowError {
    /// Whether a running switch does not answer in time.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        match self {
            Self::Connect { source, .. } => source.kind() == ErrorKind::TimedOut,
            Self::Transfer { source, .. } => matches!(source, TransferError::Timeout { .. }),
            _ => false,
        }
    }
}
