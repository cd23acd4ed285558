//! The result of one reconcile.

use crate::agent::model::engine_facts::EngineFacts;
use usnet_dataplane::{journal, network_file};

/// Why a reconcile was aborted. It is retried.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The journal cannot be read, so it is not known which pods are attached.
    #[error("the attachments of this node are not known")]
    Journal(#[from] journal::Error),
    /// A network file cannot be written.
    #[error("the plugin cannot be told what it may attach to")]
    NetworkFile(#[from] network_file::Error),
}

/// The result of a reconcile.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// What is reported to the API server.
    pub facts: EngineFacts,
    /// Whether something remains to be done that a later attempt may achieve.
    pub retry: bool,
}
