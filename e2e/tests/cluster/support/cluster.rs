//! Runs the commands of a test bed, and waits for conditions.

use super::api;
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};
use usnet_e2e::host::wait;

/// The names of the nodes in the test bed of `make test`.
pub(crate) const NODES: [&str; 2] = ["node-a", "node-b"];

/// Returns the names of all nodes of this test bed, which may have more than [`NODES`].
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

/// The time limit of a condition on a busy machine, which only ends tests that fail.
/// `USNET_WORLD_TIMEOUT` multiplies it.
///
/// Kubernetes may need more than a minute to delete a namespace: while objects are left in it, its
/// controller retries after 5 s, and then after twice as long each time.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

/// The pause between two checks of a condition. A long one may miss what holds only for a while.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// Returns [`TIMEOUT`] as an option of `kubectl`.
pub(crate) fn timeout() -> &'static str {
    static OPTION: LazyLock<String> = LazyLock::new(|| format!("--timeout={}s", wait::scaled(TIMEOUT).as_secs()));
    &OPTION
}

/// Runs a command and returns its standard output. The error has all its output.
pub(crate) fn try_run(program: &str, arguments: &[&str], input: &str) -> Result<String, String> {
    if program == "kubectl"
        && let Some(done) = api::perform(arguments)
    {
        return done.map_err(|error| format!("kubectl {arguments:?}: {error}"));
    }
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

/// Returns the output of a command that must have succeeded; otherwise panics at the caller's line.
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

/// Reads an object or a list, as `kubectl get` does; `None` if it does not exist.
#[track_caller]
pub(crate) fn get(arguments: &[&str]) -> Option<Value> {
    if let Some(path) = api::path(arguments) {
        return api::read(&path);
    }
    let text = kubectl(&[&["get", "--ignore-not-found", "-o", "json"], arguments].concat());
    (!text.is_empty()).then(|| serde_json::from_str(&text).unwrap())
}

#[track_caller]
pub(crate) fn apply(manifest: &Value) {
    succeed(try_apply(manifest));
}

/// Applies a manifest, or returns the error of the API server.
pub(crate) fn try_apply(manifest: &Value) -> Result<String, String> {
    if let Some(applied) = api::apply(manifest) {
        return Ok(applied.to_string());
    }
    try_run("kubectl", &["apply", "-o", "json", "-f", "-"], &manifest.to_string())
}

/// Runs a command on a node, which must succeed.
#[track_caller]
pub(crate) fn on_node(node: &str, arguments: &[&str]) -> String {
    run("on-node", &[&[node], arguments].concat())
}

/// Runs `ovs-vsctl` on a node, which must succeed.
#[track_caller]
pub(crate) fn vsctl(node: &str, arguments: &[&str]) -> String {
    try_vsctl(node, arguments).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs `ovs-vsctl` on a node. By default it waits indefinitely for a switch that has crashed.
pub(crate) fn try_vsctl(node: &str, arguments: &[&str]) -> Result<String, String> {
    let output = try_run("on-node", &[&[node, "ovs-vsctl", "--timeout=60"], arguments].concat(), "")?;
    Ok(output.trim().to_owned())
}

/// Polls until `check` returns a value. After the time limit, panics with its last error.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, check: impl FnMut() -> Result<T, String>) -> T {
    eventually_within(TIMEOUT, what, check)
}

/// Like [`eventually`], with another time limit.
///
/// The pause is three times as long as the check took: one that starts programs on a busy machine
/// would otherwise take a core of those that it waits for.
#[track_caller]
pub(crate) fn eventually_within<T>(limit: Duration, what: &str, mut check: impl FnMut() -> Result<T, String>) -> T {
    let limit = wait::scaled(limit);
    let end = Instant::now() + limit;
    loop {
        let begun = Instant::now();
        match check() {
            Ok(value) => return value,
            Err(problem) if Instant::now() > end => panic!("{what}: not within {limit:?}: {problem}"),
            Err(_) => thread::sleep((begun.elapsed() * 3).clamp(PAUSE_MIN, PAUSE_MAX)),
        }
    }
}

/// Returns an error with `problem` unless `holds`, for [`eventually`].
pub(crate) fn check(holds: bool, problem: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem.into()) }
}

/// Returns the condition of this type in an object's status.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}
