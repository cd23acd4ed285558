//! What a request did, or why it failed.

use crate::leader::REQUEST_TIMEOUT;
use crate::write::operation::Write;
use kube::core::Status;
use usnet_common::api::error::{is_closed, message, reason_label};
use usnet_common::display::OneLine;

/// Most characters of what the API server says in a status.
const WORDS_MAX: usize = 400;

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

    /// The words by which a namespace refuses an object: its quota, its admission policies or a
    /// webhook of them. None of other failures.
    pub fn refusal(&self) -> Option<String> {
        let kube::Error::Api(status) = self.cause()? else { return None };
        let is_of_webhook = status.code == 500 && status.message.contains("webhook");
        let is_refusal = matches!(status.code, 400 | 403 | 413 | 422) || is_of_webhook;
        (is_refusal && !is_terminating(status)).then(|| words(&status.message))
    }

    /// Why the API server rejects the object, if it does. What etcd finds too large is an internal
    /// error.
    pub fn rejection(&self) -> Option<String> {
        let kube::Error::Api(status) = self.cause()? else { return None };
        let is_rejection = matches!(status.code, 400 | 403 | 413 | 422) || status.message.contains("too large");
        is_rejection.then(|| format!("the API server does not accept its CompiledNetwork: {}", status.message))
    }
}

/// Whether a namespace is being deleted: its watch will show it.
fn is_terminating(status: &Status) -> bool {
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    causes.any(|cause| cause.reason == "NamespaceTerminating")
}

/// One line of at most [`WORDS_MAX`] characters: anyone who writes a policy for a namespace writes
/// these words.
fn words(text: &str) -> String {
    let line = OneLine(text).to_string();
    match line.char_indices().nth(WORDS_MAX) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(code: u16, message: &str, cause: &str) -> Error {
        let status = json!({
            "status": "Failure", "message": message, "code": code, "details": {"causes": [{"reason": cause}]},
        });
        let status: Status = serde_json::from_value(status).unwrap();
        Error::Request { write: "write a".to_owned(), error: Box::new(kube::Error::Api(status.boxed())) }
    }

    #[test]
    fn the_words_of_quotas_policies_and_webhooks_are_refusals() {
        for (code, words) in [
            (403, "exceeded quota: definitions"),
            (422, "denied request: every definition needs the label team"),
            (400, "admission webhook \"x\" denied the request"),
            (500, "failed calling webhook \"x\": no endpoints"),
        ] {
            assert_eq!(answer(code, words, "").refusal().as_deref(), Some(words), "{code}");
        }
        for (code, words, cause) in [
            (403, "because it is being terminated", "NamespaceTerminating"),
            (409, "the object has been modified", ""),
            (500, "etcdserver: request timed out", ""),
            (503, "down", ""),
            (429, "too many requests", ""),
            (404, "namespaces \"a\" not found", ""),
        ] {
            assert_eq!(answer(code, words, cause).refusal(), None, "{code}");
        }
        assert_eq!(Error::Timeout { write: String::new() }.refusal(), None);
    }

    #[test]
    fn the_words_are_one_line_and_bounded() {
        let long = format!("no\nReady: True\u{1b}[2J {}", "ü".repeat(2 * WORDS_MAX));
        let words = answer(403, &long, "").refusal().unwrap();
        assert_eq!((words.chars().count(), words.contains(char::is_control)), (WORDS_MAX + 1, false));
        assert!(words.starts_with("no\\nReady") && words.ends_with('…'), "{words}");
    }
}
