//! Why the API server did not do as asked, as its answer says.

use crate::error_chain::ErrorChain;
use crate::leader::is_closed;
use std::time::Duration;

/// One line for users. kube prints an answer of the API server with all of its fields, twice; its message says it all.
pub(crate) fn message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        error => ErrorChain(error).to_string(),
    }
}

/// The same as a label of metrics, of which there are few: the API server's own reason, such as Conflict or Forbidden.
pub(crate) fn reason_label(error: &kube::Error) -> &str {
    match error {
        kube::Error::Api(status) if !status.reason.is_empty() => &status.reason,
        kube::Error::Api(_) => "Refused",
        error if is_closed(error) => "NotLeader",
        _ => "Unreachable",
    }
}

/// Whether the API server has too much to do, so that less should be sent.
pub(crate) fn is_overload(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 429 | 500 | 503 | 504))
}

/// Whether it is unknown if the request was carried out: there was no answer, or one by which the API server gave up waiting.
pub(crate) fn is_outcome_unknown(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code == 504,
        error => !is_closed(error),
    }
}

/// How long the API server asks to wait (`Retry-After`).
pub(crate) fn retry_after(error: &kube::Error) -> Option<Duration> {
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
    fn an_answer_is_passed_on_in_its_own_words() {
        assert_eq!((message(&answer(403)).as_str(), reason_label(&answer(403))), ("nodes is forbidden", "Forbidden"));
    }

    #[test]
    fn what_may_have_been_carried_out_is_told_from_what_was_refused() {
        assert!(is_outcome_unknown(&answer(504)) && is_overload(&answer(504)));
        assert!(!is_outcome_unknown(&answer(429)) && is_overload(&answer(429)));
        assert!(!is_outcome_unknown(&answer(422)) && !is_overload(&answer(422)));
    }
}
