//! Values that tests need, also those of other crates (feature `testing`).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::store::paths::NodePaths;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;
pub use usnet_planner::testing::{attachment, backend, desired_port, network, network_with, record, record_with};

/// Paths in a temporary directory, which is deleted with the first value.
pub fn node_paths() -> (TempDir, NodePaths) {
    let folder = tempfile::tempdir().unwrap();
    let paths = NodePaths::below(folder.path());
    (folder, paths)
}

/// Writes a shell script that can be run at once.
///
/// Another process writes it: a file that this one writes may be open in a child that another
/// thread has just forked, and Linux does not run a file that is open for writing ("Text file
/// busy").
pub fn write_script(path: &Path, text: &str) {
    let mut writer = Command::new("sh");
    writer.args(["-c", "cat >\"$0\" && chmod 755 \"$0\""]).arg(path).stdin(Stdio::piped());
    let mut writer = writer.spawn().unwrap();
    writer.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{text}\n").as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success(), "{} cannot be written", path.display());
}
