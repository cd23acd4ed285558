//! Errors of listing and watching objects.

use crate::watch::api_backoff;
use kube::core::Status;
use std::time::Duration;

/// Why there is no next event. The caller retries.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot list the objects")]
    List(#[source] kube::Error),
    /// The objects cannot be watched, or a watch broke.
    #[error("cannot watch the objects")]
    Watch(#[source] kube::Error),
    #[error("the watch ended early")]
    EndedEarly,
    #[error("the API server returned no resourceVersion")]
    NoVersion,
}

impl Error {
    /// Whether the API server has answered.
    pub(crate) fn is_answer(&self) -> bool {
        match self {
            Self::List(error) | Self::Watch(error) => matches!(error, kube::Error::Api(_)),
            Self::EndedEarly | Self::NoVersion => true,
        }
    }

    /// How long the API server asks to wait.
    pub(crate) fn retry_after(&self) -> Duration {
        match self {
            Self::List(error) | Self::Watch(error) => api_backoff::retry_after(error),
            Self::EndedEarly | Self::NoVersion => Duration::ZERO,
        }
    }
}

/// Whether a watch cannot be continued from its resourceVersion: it was compacted, or is in the
/// future of an API server that was restored from a backup.
pub(super) fn is_lost(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let is_too_large = || causes.clone().any(|cause| cause.reason == "ResourceVersionTooLarge");
    // Before Kubernetes 1.20 the cause was in the message alone, and proxies may omit the details.
    status.code == 410 || is_too_large() || status.message.contains("Too large resource version")
}
