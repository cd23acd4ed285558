//! A garbage collection that a test can wait for.

use crate::support::cluster::{on_node, try_run};
use crate::support::scene::agent_pod;
use std::process::{Child, Command, Stdio};

/// Where the installed collector serves requests of the agent. A second one would take its place.
const MOUNTS: &str = "/run/usnet/device-mounts.sock";

/// A second collector in the container of the installed one, with its privileges and folders, and a
/// grace period that a test can wait for.
pub(crate) struct QuickCollector {
    node: &'static str,
    program: Child,
}

impl QuickCollector {
    pub(crate) fn start(node: &'static str) -> Self {
        on_node(node, &["mv", MOUNTS, &format!("{MOUNTS}.kept")]);
        let mut kubectl = Command::new("kubectl");
        kubectl.args(["exec", &agent_pod(node), "-n", "usnet-system", "-c", "garbage-collection", "--"]);
        kubectl.args(["/usr/local/bin/usnet", "collect-garbage", "--grace-seconds=1"]);
        Self { node, program: kubectl.stdin(Stdio::null()).spawn().unwrap() }
    }
}

impl Drop for QuickCollector {
    fn drop(&mut self) {
        // kubectl's end does not end it.
        let script = format!(
            "kill $(pgrep -f '^/usr/local/bin/usnet collect-garbage --grace-seconds=1'); mv {MOUNTS}.kept {MOUNTS}"
        );
        let _ended = try_run("on-node", &[self.node, "sh", "-c", &script], "");
        let _reaped = self.program.wait();
    }
}
