//! Errors of the API server, for users and for retries.

use crate::display::ErrorChain;
use std::time::Duration;

/// A request was not sent, because this controller may no longer be the leader.
#[derive(Debug, thiserror::Error)]
#[error("this controller may no longer be the leader, and writes nothing until it holds the lease again")]
pub struct Closed;

/// Whether the fence of the leader rejected a request.
pub fn is_closed(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Service(cause) if cause.is::<Closed>())
}

/// One line for users. kube prints all fields of a Status, twice; its message suffices.
pub fn message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        error => ErrorChain(error).to_string(),
    }
}

/// The error as a label of metrics with few values: the reason of the API server, such as Conflict
/// or Forbidden.
pub fn reason_label(error: &kube::Error) -> &str {
    match error {
        kube::Error::Api(status) if !status.reason.is_empty() => &status.reason,
        kube::Error::Api(_) => "Refused",
        error if is_closed(error) => "NotLeader",
        _ => "Unreachable",
    }
}

pub fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// Whether the API server is overloaded, so that less should be sent.
pub fn is_overload(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 429 | 500 | 503 | 504))
}

/// Whether the outcome of the request is unknown: there was no response, or the API server timed
/// out.
pub fn is_outcome_unknown(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code == 504,
        error => !is_closed(error),
    }
}

/// The `Retry-After` of the API server.
pub fn retry_after(error: &kube::Error) -> Option<Duration> {
    let kube::Error::Api(status) = error else { return None };
    let seconds = status.details.as_ref()?.retry_after_seconds;
    (seconds > 0).then(|| Duration::from_secs(u64::from(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    fn answer(code: u16) -> kube::Error {
        kube::Error::Api(Status::failure("nodes is forbidden", "Forbidden").with_code(code).boxed())
    }

    #[test]
    fn the_message_of_the_api_server_is_passed_on() {
        assert_eq!((message(&answer(403)).as_str(), reason_label(&answer(403))), ("nodes is forbidden", "Forbidden"));
    }

    #[test]
    fn unknown_outcomes_are_distinguished_from_rejections() {
        assert!(is_outcome_unknown(&answer(504)) && is_overload(&answer(504)));
        assert!(!is_outcome_unknown(&answer(429)) && is_overload(&answer(429)));
        assert!(!is_outcome_unknown(&answer(422)) && !is_overload(&answer(422)));
        assert!(is_not_found(&answer(404)) && !is_not_found(&answer(403)));
    }
}
