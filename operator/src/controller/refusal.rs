//! Why the API server did not do as asked, in the words of its answer.

use crate::error_chain::ErrorChain;

/// One line for people. kube prints an answer of the API server with all of its fields, twice; its message says it all.
pub(super) fn reason(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        error => ErrorChain(error).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    #[test]
    fn an_answer_is_told_in_its_own_words() {
        let answer = Status::failure("nodes is forbidden", "Forbidden").with_code(403);
        assert_eq!(reason(&kube::Error::Api(answer.boxed())), "nodes is forbidden");
    }
}
