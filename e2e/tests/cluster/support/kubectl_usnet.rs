//! Runs `kubectl usnet`.

use crate::support::cluster::kubectl;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};
use tempfile::NamedTempFile;

/// The exit status and the output of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl CommandOutput {
    /// Parses the report of `-o json`.
    #[track_caller]
    pub(crate) fn report(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Runs `kubectl usnet` with this standard input.
#[track_caller]
pub(crate) fn usnet_with_input(arguments: &[&str], input: &str) -> CommandOutput {
    let mut command = Command::new("kubectl");
    command.arg("usnet").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let status = output.status.code().expect("an exit status");
    CommandOutput { status, stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// Runs `kubectl usnet`.
#[track_caller]
pub(crate) fn usnet(arguments: &[&str]) -> CommandOutput {
    usnet_with_input(arguments, "")
}

/// Runs `kubectl usnet` with `-o json`, and returns the exit status and the report.
#[track_caller]
pub(crate) fn ask(arguments: &[&str]) -> (i32, Value) {
    let output = usnet(&[arguments, &["-o", "json"]].concat());
    (output.status, output.report())
}

/// Creates a kubeconfig for a service account.
pub(crate) fn kubeconfig(namespace: &str, account: &str) -> NamedTempFile {
    let token = kubectl(&["create", "token", account, "-n", namespace]);
    let mut config: Value = serde_json::from_str(&kubectl(&["config", "view", "--raw", "-o", "json"])).unwrap();
    for user in config["users"].as_array_mut().unwrap() {
        user["user"] = json!({"token": token.trim()});
    }
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(config.to_string().as_bytes()).unwrap();
    file
}
