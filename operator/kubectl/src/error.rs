//! The errors of commands, each with a sentence and an exit status.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use usnet_common::api::error::message;
use usnet_common::display::ErrorChain;

pub(crate) const SUCCESS: u8 = 0;
/// The command succeeded, and something is wrong or would change.
pub(crate) const PROBLEM: u8 = 1;
/// The exit status of clap for invalid options.
pub(crate) const USAGE: u8 = 2;
pub(crate) const NOT_FOUND: u8 = 3;
pub(crate) const FORBIDDEN: u8 = 4;
pub(crate) const UNREACHABLE: u8 = 5;
pub(crate) const NOT_INSTALLED: u8 = 6;
pub(crate) const FILE: u8 = 7;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot use the kubeconfig: set KUBECONFIG, or use --kubeconfig and --context")]
    Kubeconfig(#[source] Box<kube::config::KubeconfigError>),
    #[error("cannot use the credentials or certificates of the kubeconfig")]
    Client(#[source] Box<kube::Error>),
    #[error("cannot read {what} from the API server: {}", message(source))]
    Read {
        what: String,
        /// The text of the error contains it already.
        source: Box<kube::Error>,
    },
    #[error("no response from the API server to the request for {what} within {} s: increase --request-timeout", .after.as_secs())]
    Timeout { what: String, after: Duration },
    #[error("you may not read {what}{}", remedy(what, source))]
    Forbidden {
        what: String,
        /// The text of the error contains it already.
        source: Box<kube::Error>,
    },
    #[error(
        "the cluster has no NetworkAttachmentDefinitions: install Multus, or choose another cluster with --context"
    )]
    MultusMissing,
    #[error(
        "usnet is not installed in this cluster: it has no {0}. Install it (kubectl apply -k config/default), or choose another cluster with --context"
    )]
    NotInstalled(String),
    #[error("there is no {kind} {name}{suggestion}")]
    NotFound {
        kind: &'static str,
        name: String,
        /// Says what to do, beginning with a colon or semicolon; may be empty.
        suggestion: String,
    },
    #[error("{kind} {name} is ambiguous: {}", .candidates.join(", "))]
    Ambiguous { kind: &'static str, name: String, candidates: Vec<String> },
    #[error("the program in pod {pod} could not be followed to its end: {problem}")]
    Stream { pod: String, problem: String },
    #[error("cannot use {}: {problem}", path.display())]
    File { path: PathBuf, problem: String },
    #[error("cannot write the output: {0}")]
    Output(String),
    #[error("{0}")]
    Usage(String),
}

/// Says who can give a missing right. The text of the API server names the user and the right.
fn remedy(what: &str, source: &kube::Error) -> String {
    match role(what) {
        Some(role) => format!(": ask for {role}"),
        None => format!(" ({}): ask for a role with that right", message(source)),
    }
}

/// Returns the role that allows to read objects, by their plural name. The component tenant-roles
/// has those of usnet.
fn role(what: &str) -> Option<&'static str> {
    match what {
        "userspacenetworks"
        | "userspacenodestates"
        | "compilednetworks"
        | "compiledpolicies"
        | "userspacepodslices"
        | "userspaceuplinks"
        | "userspaceengines" => Some("the ClusterRole usnet-networks-view, bound by a ClusterRoleBinding"),
        "network-attachment-definitions" => {
            Some("the ClusterRole usnet-definitions-view, which view, edit and admin of a namespace contain")
        }
        "userspaceattachments" | "userspacereservations" => {
            Some("the ClusterRole usnet-attachments-view, which view, edit and admin of a namespace contain")
        }
        _ => None,
    }
}

impl Error {
    /// Returns the error of a failed request for `what`.
    pub(crate) fn of_request(what: &str, source: kube::Error) -> Self {
        let (what, code) = (what.to_owned(), status_code(&source));
        let source = Box::new(source);
        match code {
            Some(401 | 403) => Self::Forbidden { what, source },
            _ => Self::Read { what, source },
        }
    }

    pub(crate) const fn exit_status(&self) -> u8 {
        match self {
            Self::NotFound { .. } | Self::Ambiguous { .. } | Self::MultusMissing => NOT_FOUND,
            Self::Forbidden { .. } => FORBIDDEN,
            Self::Usage(_) => USAGE,
            Self::Kubeconfig(_) | Self::Client(_) | Self::Read { .. } | Self::Timeout { .. } | Self::Stream { .. } => {
                UNREACHABLE
            }
            Self::NotInstalled(_) => NOT_INSTALLED,
            Self::File { .. } | Self::Output(_) => FILE,
        }
    }

    /// Returns one sentence, with the causes that it does not contain already.
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

/// Returns the HTTP status of the response, if there was one.
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
    fn each_error_is_one_sentence_with_its_exit_status() {
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
                Error::of_request("userspacenetworks", response(403, "Forbidden")),
                4,
                "you may not read userspacenetworks: ask for the ClusterRole usnet-networks-view, bound by a ClusterRoleBinding",
            ),
            (
                Error::of_request("pods", response(500, "InternalError")),
                5,
                "cannot read pods from the API server: pods is forbidden: User \"eve\"",
            ),
            (
                Error::Timeout { what: "pods".to_owned(), after: Duration::from_secs(9) },
                5,
                "no response from the API server to the request for pods within 9 s: increase --request-timeout",
            ),
        ] {
            assert_eq!((error.exit_status(), error.sentence().as_str()), (status, text));
        }
        let text = Error::NotInstalled("userspacenetworks.usnet.dev".to_owned());
        assert!(text.exit_status() == 6 && text.sentence().starts_with("usnet is not installed"), "{text}");
    }
}
