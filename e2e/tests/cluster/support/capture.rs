//! Runs `kubectl usnet capture` while frames are sent, and reads its output with tcpdump.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

/// The time limit, which the frames of these tests do not reach.
const SECONDS: &str = "60";

/// Captures the frames that an interface of a pod receives during an action that sends at least
/// `frames`. Returns the line of each frame in tcpdump's output, and the standard error of the
/// command.
#[track_caller]
pub(crate) fn received_during(pod: &str, interface: &str, frames: u32, action: impl FnOnce()) -> (Vec<String>, String) {
    let count = frames.to_string();
    let limits = ["--direction", "received", "--count", &count, "--seconds", SECONDS];
    let mut command = Command::new("kubectl");
    command.args(["usnet", "capture", pod, interface]).args(limits).stdin(Stdio::null());
    let mut program = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = program.stdout.take().unwrap();
    // The header arrives when the engine copies frames.
    let mut file = vec![0; 8];
    if let Err(error) = stdout.read_exact(&mut file) {
        panic!("{error}: {:?}", program.wait_with_output());
    }
    action();
    stdout.read_to_end(&mut file).unwrap();
    let end = program.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&end.stderr).trim().to_owned();
    assert!(end.status.success(), "{errors}");
    (read_by_tcpdump(&file), errors)
}

/// Returns the line of each frame in tcpdump's output.
#[track_caller]
pub(crate) fn read_by_tcpdump(file: &[u8]) -> Vec<String> {
    let mut command = Command::new("tcpdump");
    command.args(["-nn", "-e", "-r", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut tcpdump = command.spawn().expect("tcpdump");
    tcpdump.stdin.take().unwrap().write_all(file).unwrap();
    let output = tcpdump.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| line.contains("ethertype"))
        .map(str::to_owned)
        .collect()
}
