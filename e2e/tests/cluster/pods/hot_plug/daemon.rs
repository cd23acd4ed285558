//! Multus' daemon on a node, beside the Multus that the container runtime calls.

use super::in_cluster::{InCluster, log_path};
use crate::support::cluster::{check, eventually, on_node, try_run};
use crate::support::pods::NODE;
use crate::support::vpp::process;
use serde_json::json;
use std::os::unix::net::UnixStream;
use std::process::Child;

const PROGRAM: &str = "multus-daemon";
const FOLDER: &str = "/run/hot-plug";
/// The daemon recreates this folder.
const SOCKETS: &str = "/run/multus";
pub(super) const SOCKET: &str = "/run/multus/multus.sock";

/// Where mounts that the daemon's CNI plugins make are seen: `mountPropagation` of the volume
/// `hostroot` of its DaemonSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Propagation {
    /// On the node, and thus by the engine.
    Bidirectional,
    /// In the daemon's container alone, as in Multus' own manifest.
    HostToContainer,
}

/// The daemon, while this lives.
pub(super) struct Daemon(Child);

impl Daemon {
    pub(super) fn start(in_cluster: &InCluster, propagation: Propagation) -> Self {
        // Multus' manifest has this version, which the daemon puts in the place of a network's own.
        let configuration = json!({
            "cniVersion": "0.3.1", "logLevel": "verbose", "logToStderr": true, "socketDir": SOCKETS,
            // It writes a configuration for the runtime, which keeps its own. Without this it ends.
            "cniConfigDir": FOLDER, "multusAutoconfigDir": FOLDER, "multusConfigFile": "auto",
        });
        let file = format!("{FOLDER}/daemon-config.json");
        let pods = json!({"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "ptp"}]});
        let script = format!(
            "mkdir -p {FOLDER} && echo '{pods}' > {FOLDER}/10-pods.conflist && echo '{configuration}' > {file}"
        );
        on_node(NODE, &["sh", "-c", &script]);
        let option = format!("-config={file}");
        let command = [PROGRAM, &option];
        let apart = ["unshare", "--mount", "--propagation=slave", "--"];
        let daemon = match propagation {
            Propagation::Bidirectional => in_cluster.start(PROGRAM, &command),
            Propagation::HostToContainer => in_cluster.start(PROGRAM, &[&apart[..], &command].concat()),
        };
        let daemon = Self(daemon);
        eventually("Multus' daemon serves", || {
            UnixStream::connect(socket()).map(drop).map_err(|error| format!("{error}: {}", log()))
        });
        daemon
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
        let _failed = try_run("on-node", &[NODE, "rm", "-rf", FOLDER, SOCKETS], "");
    }
}

/// Whether the program is there. If not, this prints what is left out.
pub(super) fn is_built() -> bool {
    let is_built = try_run("sh", &["-c", &format!("command -v {PROGRAM}")], "").is_ok();
    if !is_built {
        println!("left out: hot plug by Multus, because there is no {PROGRAM}: run e2e/tools/build all");
    }
    is_built
}

/// The daemon's socket as the tests reach it.
pub(super) fn socket() -> String {
    format!("/proc/{}/root{SOCKET}", process(NODE))
}

/// What it has logged.
pub(super) fn log() -> String {
    std::fs::read_to_string(log_path(PROGRAM)).unwrap_or_default()
}

/// Waits until it has logged these words in one line.
#[track_caller]
pub(super) fn await_log(words: &[&str]) {
    eventually("Multus' log", || {
        let log = log();
        check(log.lines().any(|line| words.iter().all(|word| line.contains(word))), log)
    });
}
