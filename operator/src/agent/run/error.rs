//! Why the agent ends.

use crate::agent::engines::SocketFolderDeleted;
use crate::api::client;
use crate::telemetry;
use std::io;
use usnet_dataplane::{journal, network_file};

/// Why the agent cannot start or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server cannot be reached.
    #[error(transparent)]
    ApiServer(#[from] client::Error),
    /// The node's run folder cannot be used.
    #[error("the run folder of usnet cannot be used: is it mounted, and writable?")]
    RunFolder(#[source] io::Error),
    /// The journal cannot be used.
    #[error("the folder of attachment records cannot be used: is the node's state folder mounted, and writable?")]
    Journal(#[from] journal::Error),
    /// The network files cannot be used.
    #[error("the folder of network files cannot be used: is the node's run folder mounted, and writable?")]
    NetworkFiles(#[from] network_file::Error),
    /// The metrics and health endpoint cannot be served.
    #[error(transparent)]
    Telemetry(#[from] telemetry::Error),
    /// A bug in this program.
    #[error("the metrics could not be registered")]
    Metrics(#[from] prometheus::Error),
    /// Only a restarted agent can reach the engine again.
    #[error(transparent)]
    SocketFolderDeleted(#[from] SocketFolderDeleted),
}
