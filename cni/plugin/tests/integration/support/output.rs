//! The output and exit status of a call.

use serde_json::Value;
use std::time::Duration;
use usnet_crds::{cni_error, conditions};

#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) output: std::process::Output,
    pub(crate) took: Duration,
}

impl Output {
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).expect("text on standard output")
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// The result of a successful call.
    #[track_caller]
    pub(crate) fn result(&self) -> Value {
        assert!(self.output.status.success(), "{self:?}");
        serde_json::from_slice(&self.output.stdout).expect("one JSON document on standard output")
    }

    /// The error of a failed call.
    #[track_caller]
    pub(crate) fn error(&self) -> Value {
        assert_eq!(self.output.status.code(), Some(1), "{self:?}");
        let error: Value = serde_json::from_slice(&self.output.stdout).expect("one JSON document on standard output");
        let text = |key: &str| error[key].as_str().is_some_and(|text| !text.is_empty());
        assert!(text("cniVersion") && text("msg"), "{error}");
        assert_documented(&error);
        error
    }

    /// The code of a failed call.
    #[track_caller]
    pub(crate) fn code(&self) -> u64 {
        self.error()["code"].as_u64().expect("a code")
    }

    /// The message of a call that failed with this code.
    #[track_caller]
    pub(crate) fn message(&self, code: u64) -> String {
        let error = self.error();
        assert_eq!(error["code"], code, "{error}");
        error["msg"].as_str().expect("a message").to_owned()
    }

    /// Asserts that the call returned in time, which is 5 s, or more on a busy machine.
    #[track_caller]
    pub(crate) fn assert_in_time(&self) {
        assert!(self.took < Duration::from_secs(15), "{:?}", self.took);
    }

    /// Asserts that a call succeeded without output, like DEL.
    #[track_caller]
    pub(crate) fn assert_done(&self) {
        assert!(self.output.status.success(), "{self:?}");
        assert_eq!(self.stdout(), "");
    }
}

/// Asserts that `docs/errors.md` has the code and the reason in the brackets of the message.
#[track_caller]
fn assert_documented(error: &Value) {
    let message = error["msg"].as_str().expect("a message");
    let head = message.strip_prefix("usnet[").and_then(|rest| Some(rest.split_once("]: ")?.0));
    let (code, reason) = head.and_then(|head| head.split_once(' ')).expect("code and reason in front of the message");
    let code = code.parse().expect("a code");
    assert_eq!(error["code"], code, "{message}");
    let found = cni_error::find(code, reason).unwrap_or_else(|| panic!("{message} is not documented"));
    let is_known = found.reason == reason
        || conditions::reason::find(reason).is_some()
        || cni_error::all().any(|other| other.reason == reason);
    assert!(is_known, "the reason of {message} is in no table");
}
