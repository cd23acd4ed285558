use crate::engines::SocketFolderDeleted;
use std::io;
use usnet_common::api::client;
use usnet_common::telemetry;
use usnet_dataplane::{journal, network_file};

/// Why the agent cannot start or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    ApiServer(#[from] client::Error),
    #[error("the run folder of usnet cannot be used: is it mounted, and writable?")]
    RunFolder(#[source] io::Error),
    #[error("the folder of attachment records cannot be used: is the node's state folder mounted, and writable?")]
    Journal(#[from] journal::Error),
    #[error("the folder of network files cannot be used: is the node's run folder mounted, and writable?")]
    NetworkFiles(#[from] network_file::Error),
    #[error(transparent)]
    Telemetry(#[from] telemetry::Error),
    /// A bug in this program.
    #[error("the metrics could not be registered")]
    Metrics(#[from] prometheus::Error),
    /// Only a restart of the agent can reach the engine again.
    #[error(transparent)]
    SocketFolderDeleted(#[from] SocketFolderDeleted),
}
