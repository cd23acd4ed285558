//! The program of the legacy plugin, which `USNET_OLD_PLUGIN` names: none of it is in this
//! repository.

use crate::support::cluster::{NODES, on_node};
use std::path::PathBuf;

const VARIABLE: &str = "USNET_OLD_PLUGIN";
const PLUGIN: &str = "/opt/cni/bin/userspace";

pub(super) struct OldPlugin {
    program: PathBuf,
}

impl OldPlugin {
    /// None, with a line that says so, where there is no such program.
    pub(super) fn from_environment() -> Option<Self> {
        let program = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        if program.is_none() {
            println!(
                "SKIPPED: a cluster is not switched from the userspace CNI (Intel): {VARIABLE} names no program of it"
            );
        }
        program.map(|program| Self { program })
    }

    /// Replaces the plugin of all nodes, as the DaemonSet of the legacy plugin does when it starts.
    pub(super) fn install(&self) {
        // Nodes have mounts of their own, but share the process ids with this program.
        let source = format!("/proc/{}/root{}", std::process::id(), self.program.display());
        let script = format!("cp '{source}' {PLUGIN}.old && chmod 755 {PLUGIN}.old && mv -f {PLUGIN}.old {PLUGIN}");
        NODES.iter().for_each(|node| drop(on_node(node, &["sh", "-c", &script])));
    }

    /// Whether a node has the legacy plugin.
    pub(super) fn is_on(&self, node: &str) -> bool {
        let size = on_node(node, &["stat", "-c", "%s", PLUGIN]).trim().parse().ok();
        size == self.program.metadata().map(|found| found.len()).ok()
    }
}
