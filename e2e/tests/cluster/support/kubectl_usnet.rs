//! Runs `kubectl usnet`.

use crate::support::cluster::{kubectl, run};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::{NamedTempFile, TempDir};

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
///
/// `kubectl` itself only looks for the plugin, which takes it longer than most answers of the
/// plugin; the tests of `documentation` run both.
#[track_caller]
pub(crate) fn usnet_with_input(arguments: &[&str], input: &str) -> CommandOutput {
    let mut command = Command::new("kubectl-usnet");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
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

/// The answer of `support-bundle`, and the files of the bundle without the folder that all are in.
pub(crate) fn bundle() -> (CommandOutput, BTreeMap<String, String>) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("bundle.tar.gz");
    let answer = usnet(&["support-bundle", "-o", file.to_str().unwrap(), "--since", "1h"]);
    run("tar", &["-xzf", file.to_str().unwrap(), "-C", folder.path().to_str().unwrap()]);
    std::fs::remove_file(file).unwrap();
    let mut files = BTreeMap::new();
    read(folder.path(), folder.path(), &mut files);
    (answer, files)
}

fn read(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(root, &path, files);
        } else {
            let name: PathBuf = path.strip_prefix(root).unwrap().components().skip(1).collect();
            files.insert(name.to_str().unwrap().to_owned(), std::fs::read_to_string(&path).unwrap());
        }
    }
}
