//! Why a command has no answer, each with a sentence and an exit status.

use crate::api::error::message;
use crate::display::ErrorChain;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Nothing is wrong, or nothing would change.
pub(crate) const FINE: u8 = 0;
/// There is an answer, and something is wrong, or would change.
pub(crate) const PROBLEM: u8 = 1;
// 2 is clap's: wrong options.
/// An object does not exist, or its name is ambiguous.
pub(crate) const NOT_FOUND: u8 = 3;
/// The user may not read what the answer needs.
pub(crate) const FORBIDDEN: u8 = 4;
/// The API server cannot be reached, or failed.
pub(crate) const UNREACHABLE: u8 = 5;
/// usnet is not installed in this cluster.
pub(crate) const NOT_INSTALLED: u8 = 6;
/// A file cannot be used, or the output cannot be written.
pub(crate) const FILE: u8 = 7;

/// Why a command has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// There is no usable kubeconfig.
    #[error("cannot use the kubeconfig: set KUBECONFIG, or use --kubeconfig and --context")]
    Kubeconfig(#[source] Box<kube::config::KubeconfigError>),
    /// The client cannot be created.
    #[error("cannot use the credentials or certificates of the kubeconfig")]
    Client(#[source] Box<kube::Error>),
    /// The API server did not respond.
    #[error("cannot read {what} from the API server: {}", message(source))]
    Read {
        /// The objects.
        what: String,
        /// Why not. It is in the text already.
        source: Box<kube::Error>,
    },
    /// The API server did not respond in time.
    #[error("no response from the API server to the request for {what} within {} s: use --request-timeout", .after.as_secs())]
    Timeout {
        /// The objects.
        what: String,
        /// The limit.
        after: Duration,
    },
    /// The user may not read these objects.
    #[error("you may not read {what} ({}): ask for a role with that right", message(source))]
    Forbidden {
        /// The objects.
        what: String,
        /// What the API server said. It is in the text already.
        source: Box<kube::Error>,
    },
    /// The CRD of NetworkAttachmentDefinitions is missing.
    #[error(
        "the cluster has no NetworkAttachmentDefinitions: install Multus, or choose another cluster with --context"
    )]
    WithoutMultus,
    /// The CRDs are missing.
    #[error(
        "usnet is not installed in this cluster: it has no {0}. Install it (kubectl apply -k config/default), or choose another cluster with --context"
    )]
    NotInstalled(String),
    /// An object does not exist.
    #[error("there is no {kind} {name}{suggestion}")]
    NotFound {
        /// Its kind, for users.
        kind: &'static str,
        /// Its name.
        name: String,
        /// What to do, beginning with a colon or semicolon; may be empty.
        suggestion: String,
    },
    /// Several objects have this name.
    #[error("{kind} {name} is ambiguous: {}", .candidates.join(", "))]
    Ambiguous {
        /// Its kind, for users.
        kind: &'static str,
        /// The name.
        name: String,
        /// Whose name it is, each as it has to be written.
        candidates: Vec<String>,
    },
    /// A file cannot be used.
    #[error("cannot use {}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(String),
}

impl Error {
    /// The error for a failed request for `what`.
    pub(crate) fn of_request(what: &str, source: kube::Error) -> Self {
        let (what, code) = (what.to_owned(), status_code(&source));
        let source = Box::new(source);
        match code {
            Some(401 | 403) => Self::Forbidden { what, source },
            _ => Self::Read { what, source },
        }
    }

    /// The exit status.
    pub(crate) const fn exit_status(&self) -> u8 {
        match self {
            Self::NotFound { .. } | Self::Ambiguous { .. } | Self::WithoutMultus => NOT_FOUND,
            Self::Forbidden { .. } => FORBIDDEN,
            Self::Kubeconfig(_) | Self::Client(_) | Self::Read { .. } | Self::Timeout { .. } => UNREACHABLE,
            Self::NotInstalled(_) => NOT_INSTALLED,
            Self::File { .. } | Self::Output(_) => FILE,
        }
    }

    /// One sentence, with the causes that it does not contain already.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Kubeconfig(_) | Self::Client(_) => ErrorChain(self).to_string(),
            other => other.to_string(),
        }
    }
}

impl From<&Error> for ExitCode {
    fn from(error: &Error) -> Self {
        Self::from(error.exit_status())
    }
}

/// The status of the response, if there was one.
pub(crate) fn status_code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    fn response(code: u16, reason: &str) -> kube::Error {
        kube::Error::Api(Status::failure("pods is forbidden: User \"eve\"", reason).with_code(code).boxed())
    }

    #[test]
    fn each_error_is_one_sentence_with_a_status_of_its_own() {
        let not_found = |name: &str| Error::NotFound { kind: "pod", name: name.to_owned(), suggestion: String::new() };
        let ambiguous = Error::Ambiguous {
            kind: "pod",
            name: "a".to_owned(),
            candidates: vec!["web/a".to_owned(), "db/a".to_owned()],
        };
        for (error, status, text) in [
            (not_found("web/a"), 3, "there is no pod web/a"),
            (ambiguous, 3, "pod a is ambiguous: web/a, db/a"),
            (
                Error::of_request("pods", response(403, "Forbidden")),
                4,
                "you may not read pods (pods is forbidden: User \"eve\"): ask for a role with that right",
            ),
            (
                Error::of_request("pods", response(500, "InternalError")),
                5,
                "cannot read pods from the API server: pods is forbidden: User \"eve\"",
            ),
            (
                Error::Timeout { what: "pods".to_owned(), after: Duration::from_secs(9) },
                5,
                "no response from the API server to the request for pods within 9 s: use --request-timeout",
            ),
        ] {
            assert_eq!((error.exit_status(), error.sentence().as_str()), (status, text));
        }
        let text = Error::NotInstalled("userspacenetworks.usnet.dev".to_owned());
        assert!(text.exit_status() == 6 && text.sentence().starts_with("usnet is not installed"), "{text}");
    }
}
