//! Why the API server did not do as asked, in the words of its answer.

use crate::error_chain::ErrorChain;
use crate::leader::is_closed;

/// One line for people. kube prints an answer of the API server with all of its fields, twice; its message says it all.
pub(super) fn reason(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        error => ErrorChain(error).to_string(),
    }
}

/// The same in one word, of which there are few: the API server's own, such as Conflict or Forbidden.
pub(super) fn word(error: &kube::Error) -> &str {
    match error {
        kube::Error::Api(status) if !status.reason.is_empty() => &status.reason,
        kube::Error::Api(_) => "Refused",
        error if is_closed(error) => "NotLeader",
        _ => "Unreachable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    #[test]
    fn an_answer_is_told_in_its_own_words() {
        let answer = Status::failure("nodes is forbidden", "Forbidden").with_code(403);
        let error = kube::Error::Api(answer.boxed());
        assert_eq!((reason(&error).as_str(), word(&error)), ("nodes is forbidden", "Forbidden"));
    }
}
