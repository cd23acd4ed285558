//! What a request did, or why it failed.

use crate::api::error::{message, reason_label};
use crate::controller::write::operation::Write;
use crate::leader::{REQUEST_TIMEOUT, is_closed};

/// Why a write failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server refused, or could not be reached.
    #[error("cannot {write}: {}", message(error))]
    Request {
        /// What was to be written, as `Display` of the write.
        write: String,
        /// The error of the client.
        error: Box<kube::Error>,
    },
    /// The API server did not respond in time.
    #[error("cannot {write}: no response within {} s", REQUEST_TIMEOUT.as_secs())]
    Timeout {
        /// What was to be written, as `Display` of the write.
        write: String,
    },
}

impl Error {
    /// The error of the client; none after a timeout.
    pub fn cause(&self) -> Option<&kube::Error> {
        match self {
            Self::Request { error, .. } => Some(error),
            Self::Timeout { .. } => None,
        }
    }

    /// The label of metrics.
    pub fn reason(&self) -> &str {
        self.cause().map_or("Timeout", reason_label)
    }

    /// Whether nothing was sent, because another replica may be the leader.
    pub fn is_fenced(&self) -> bool {
        self.cause().is_some_and(is_closed)
    }

    /// Why the API server rejects the object, if it does. What etcd finds too large is an internal
    /// error.
    pub fn rejection(&self) -> Option<String> {
        let kube::Error::Api(status) = self.cause()? else { return None };
        let is_rejection = matches!(status.code, 400 | 403 | 413 | 422) || status.message.contains("too large");
        is_rejection.then(|| format!("the API server does not accept its CompiledNetwork: {}", status.message))
    }
}

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// The object has this resourceVersion now.
    Written(u64),
    /// The object is deleted, or will be.
    Deleted,
    /// Nothing: the object differs from the cached one.
    NoOp,
}

/// The outcome of one write.
#[derive(Debug)]
pub struct Outcome {
    /// What was sent.
    pub write: Write,
    /// What it did, or why it failed.
    pub result: Result<Done, Error>,
}
