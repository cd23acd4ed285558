//! The commands that a test bed puts on PATH, and waiting for what they show.

use super::api;
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};
use usnet_e2e::host::wait;

/// The nodes of the test bed of `make test`, by name.
pub(crate) const NODES: [&str; 2] = ["node-a", "node-b"];
/// All nodes, by name: these, or more in a test bed of more.
pub(crate) fn nodes() -> Vec<&'static str> {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let testbed = std::env::var("USNET_WORLD").expect("these tests run in a test bed: e2e/world -- cargo test …");
        let entries = std::fs::read_dir(format!("{testbed}/nodes")).unwrap().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    });
    NAMES.iter().map(String::as_str).collect()
}

/// How long a condition may take on a busy machine. Tests are never about time; this only ends
/// hopeless ones. `USNET_WORLD_TIMEOUT` multiplies it.
///
/// Kubernetes may need more than a minute to end a namespace: when something is left in it, its
/// controller looks again after 5 s, and then after twice as long each time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The same as the option of `kubectl`.
pub(crate) fn timeout() -> &'static str {
    static OPTION: LazyLock<String> = LazyLock::new(|| format!("--timeout={}s", wait::scaled(PATIENCE).as_secs()));
    &OPTION
}

/// Runs a command and gives its standard output, or what it printed when it failed.
pub(crate) fn try_run(program: &str, arguments: &[&str], input: &str) -> Result<String, String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{program}: {error}; these tests run in a test bed: e2e/world -- cargo test …"))?;
    child.stdin.take().unwrap().write_all(input.as_bytes()).map_err(|error| error.to_string())?;
    let Output { status, stdout, stderr } = child.wait_with_output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&stdout).into_owned();
    if status.success() {
        return Ok(text);
    }
    Err(format!("{program} {arguments:?}: {status}\n{text}{}", String::from_utf8_lossy(&stderr)))
}

/// What a command printed that must have succeeded; a failure is told as one of the caller's line.
#[track_caller]
pub(crate) fn succeed(result: Result<String, String>) -> String {
    match result {
        Ok(text) => text,
        Err(error) => panic!("{error}"),
    }
}

/// Runs a command that must succeed.
#[track_caller]
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    succeed(try_run(program, arguments, ""))
}

/// Runs `kubectl`, which must succeed.
#[track_caller]
pub(crate) fn kubectl(arguments: &[&str]) -> String {
    run("kubectl", arguments)
}

/// One object of the API server, or a list, as `kubectl get` shows it; nothing when it is not
/// there.
#[track_caller]
pub(crate) fn get(arguments: &[&str]) -> Option<Value> {
    if let Some(path) = api::path(arguments) {
        return api::read(&path);
    }
    let text = kubectl(&[&["get", "--ignore-not-found", "-o", "json"], arguments].concat());
    (!text.is_empty()).then(|| serde_json::from_str(&text).unwrap())
}

/// Applies a manifest.
#[track_caller]
pub(crate) fn apply(manifest: &Value) {
    succeed(try_apply(manifest));
}

/// Applies a manifest, or gives the API server's words.
pub(crate) fn try_apply(manifest: &Value) -> Result<String, String> {
    try_run("kubectl", &["apply", "-f", "-"], &manifest.to_string())
}

/// Runs a command on a node, which must succeed.
#[track_caller]
pub(crate) fn on_node(node: &str, arguments: &[&str]) -> String {
    run("on-node", &[&[node], arguments].concat())
}

/// Asks Open vSwitch of a node.
#[track_caller]
pub(crate) fn vsctl(node: &str, arguments: &[&str]) -> String {
    on_node(node, &[&["ovs-vsctl"], arguments].concat()).trim().to_owned()
}

/// Waits until `check` gives a value, and panics with its last complaint when it never does.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, check: impl FnMut() -> Result<T, String>) -> T {
    eventually_within(PATIENCE, what, check)
}

/// The same with a patience of its own.
#[track_caller]
pub(crate) fn eventually_within<T>(patience: Duration, what: &str, mut check: impl FnMut() -> Result<T, String>) -> T {
    let patience = wait::scaled(patience);
    let end = Instant::now() + patience;
    loop {
        match check() {
            Ok(value) => return value,
            Err(complaint) if Instant::now() > end => panic!("{what}: not within {patience:?}: {complaint}"),
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// A condition as a complaint when it does not hold, for [`eventually`].
pub(crate) fn check(holds: bool, complaint: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(complaint.into()) }
}

/// The condition of that type of an object's status.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}
