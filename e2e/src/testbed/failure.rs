//! Keeps the logs of a failed test bed in `e2e/world.failed/<testbed>/` of the checkout.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Stdio;

use crate::kubernetes::kubectl::Kubectl;
use crate::testbed::folder::TestbedFolder;
use crate::testbed::progress;
use crate::testbed::settings::Settings;

/// The kubectl commands whose output is kept, with the name of the file.
const COMMANDS: [(&str, &[&str]); 4] = [
    ("kubectl-all.txt", &["get", "nodes,all,net-attach-def", "--all-namespaces", "--output=wide"]),
    ("kubectl-events.txt", &["get", "events", "--all-namespaces", "--sort-by=.lastTimestamp"]),
    ("kubectl-describe.txt", &["describe", "pods", "--all-namespaces"]),
    ("kubectl-usnet.txt", &["get", "usn,ucn,usns", "--output=yaml"]),
];

/// Writes the state of the cluster to the logs, if the API server responds.
pub fn record_cluster(folder: &TestbedFolder) {
    let kubectl = Kubectl::new(folder);
    for (file, arguments) in COMMANDS {
        let Ok(output) = File::create(folder.logs().join(file)) else { continue };
        let Ok(errors) = output.try_clone() else { continue };
        let mut command = kubectl.command(arguments);
        command.arg("--request-timeout=3s").stdin(Stdio::null()).stdout(output).stderr(errors);
        // Errors are in the file.
        let _ = command.status();
    }
}

/// Copies the logs out of the test bed's folder, and prints their new path.
pub fn keep_logs(folder: &TestbedFolder, settings: &Settings) {
    let kept = settings.checkout.join("e2e/world.failed").join(folder.id());
    let mut result = copy(&folder.logs(), &kept);
    for node in settings.node_names() {
        let logs = folder.node_copy_of(&node, "var").join("log");
        result = result.and(copy(&logs, &kept.join(&node)));
    }
    match result {
        Ok(()) => progress::line(&format!("world: the logs of all programs are in {}", kept.display())),
        Err(error) => progress::line(&format!("world: not all logs could be kept in {}: {error}", kept.display())),
    }
}

/// Copies the files and folders of a folder, if it exists, without links, devices and sockets.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_files_and_leaves_links() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("pods")).unwrap();
        fs::write(from.join("pods/0.log"), "line").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.join("link")).unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("pods/0.log")).unwrap(), "line");
        assert!(!to.join("link").exists());
    }
}
