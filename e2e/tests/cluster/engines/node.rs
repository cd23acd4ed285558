//! Nodes of the test bed without the engine that the test bed runs on them.

use crate::support::cluster::{TIMEOUT, kubectl, on_node, run, try_run};
use std::thread;
use usnet_e2e::host::wait;

/// A node without an engine; with it again when this is dropped.
pub(super) struct BareNode {
    pub(super) name: &'static str,
    label: String,
    /// The components of the test bed, in the order of their start.
    components: &'static [&'static str],
}

impl BareNode {
    /// Takes the test bed's Open vSwitch away, and labels the node.
    pub(super) fn without_open_vswitch(name: &'static str, label: &str) -> Self {
        Self::without(&["ovsdb-server", "ovs-vswitchd"], name, label)
    }

    /// Takes the test bed's VPP away, and labels the node.
    pub(super) fn without_vpp(name: &'static str, label: &str) -> Self {
        Self::without(&["vpp"], name, label)
    }

    fn without(components: &'static [&'static str], name: &'static str, label: &str) -> Self {
        let node = Self { name, label: label.to_owned(), components };
        for component in components.iter().rev() {
            run("component", &["stop", component, name]);
        }
        kubectl(&["label", "node", name, "--overwrite", &format!("{label}=yes")]);
        node
    }

    /// The ids of the processes of a program in the network of the node: all nodes of a test bed
    /// share the ids.
    pub(super) fn processes(&self, program: &str) -> Vec<String> {
        processes(self.name, program)
    }
}

/// The ids of the processes of a program on a node.
pub(super) fn processes(node: &str, program: &str) -> Vec<String> {
    let script = format!(
        "own=$(readlink /proc/self/ns/net); for id in $(pidof {program}); do          [ \"$(readlink /proc/$id/ns/net)\" != \"$own\" ] || echo $id; done"
    );
    let found = on_node(node, &["sh", "-c", &script]);
    found.split_whitespace().map(ToOwned::to_owned).collect()
}

impl Drop for BareNode {
    fn drop(&mut self) {
        let _ = try_run("kubectl", &["label", "node", self.name, &format!("{}-", self.label)], "");
        // The engine of the test bed cannot start beside another.
        let has_ended = || self.components.iter().all(|program| self.processes(program).is_empty());
        assert!(wait::until(TIMEOUT, has_ended) || thread::panicking(), "an engine of usnet runs on");
        for component in self.components {
            let _ = try_run("component", &["start", component, self.name], "");
        }
    }
}
