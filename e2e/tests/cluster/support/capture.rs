//! `kubectl usnet capture` while frames flow, and what tcpdump reads of it.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

/// More than any frames of these tests need.
const SECONDS: &str = "60";

/// Captures what an interface of a pod receives during an action that sends it at least so many
/// frames; returns the line of each that tcpdump prints, and what the command said at its end.
#[track_caller]
pub(crate) fn received_during(pod: &str, interface: &str, frames: u32, action: impl FnOnce()) -> (Vec<String>, String) {
    let count = frames.to_string();
    let limits = ["--direction", "received", "--count", &count, "--seconds", SECONDS];
    let mut command = Command::new("kubectl");
    command.args(["usnet", "capture", pod, interface]).args(limits).stdin(Stdio::null());
    let mut program = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = program.stdout.take().unwrap();
    // The header comes once the engine copies frames.
    let mut file = vec![0; 8];
    if let Err(error) = stdout.read_exact(&mut file) {
        panic!("{error}: {:?}", program.wait_with_output());
    }
    action();
    stdout.read_to_end(&mut file).unwrap();
    let end = program.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&end.stderr).trim().to_owned();
    assert!(end.status.success(), "{said}");
    (read_by_tcpdump(&file), said)
}

/// The line of each frame that tcpdump prints.
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
