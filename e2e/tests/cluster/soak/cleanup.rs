//! Cleans up after a run that failed, so it does not affect later tests.

use crate::soak::actions::{parts, pods};
use crate::soak::foreign;
use crate::soak::steps::names;
use crate::soak::steps::{GHOSTS, NAMESPACES};
use crate::soak::trace::Trace;
use crate::support::cluster::{NODES, try_run};
use crate::support::direct_cni::DirectPods;
use std::thread::panicking;

/// When it is dropped because its test fails: starts what was stopped, and removes what the run
/// created.
pub(crate) struct Cleanup<'a> {
    pub(crate) nodes: &'a [DirectPods; 2],
    pub(crate) trace: &'a Trace,
}

impl Drop for Cleanup<'_> {
    fn drop(&mut self) {
        if panicking() {
            eprintln!("{}\ncleaning up after a run", self.trace.tell());
            tell_state();
            parts::start_all();
            pods::clear(self.nodes);
            // Foreign ports would keep bridges.
            (0..NODES.len()).for_each(foreign::clear);
            clear_cluster();
            // What could not be taken away while it was used.
            (0..NODES.len()).for_each(foreign::clear);
        }
        unlabel_nodes();
    }
}

/// What helps to find out why the run failed: what there is, and what the parts of usnet and
/// Kubernetes' own controllers said last. Those delete namespaces and make pods, and are slow to
/// notice that an API server is back.
fn tell_state() {
    let logs = ["logs", "-n", "usnet-system", "-l", "app.kubernetes.io/name=usnet", "--prefix", "--tail=40"];
    let manager = "tail -n 20 \"$USNET_WORLD/logs/kube-controller-manager.log\"";
    let objects = ["get", "namespaces,nodes,usn,ucn,usns,net-attach-def,pods", "-A", "-o", "wide"];
    for (program, arguments) in [("kubectl", &objects[..]), ("kubectl", &logs), ("sh", &["-c", manager])] {
        match try_run(program, arguments, "") {
            Ok(text) | Err(text) => eprintln!("{text}"),
        }
    }
}

/// Deletes all objects of the run and waits until they are gone.
fn clear_cluster() {
    // With their definitions go the networks that follow from them.
    delete("namespace", (0..NAMESPACES).map(names::namespace), "60s");
    delete("node", (0..GHOSTS).map(names::ghost), "10s");
    if !delete("usn", names::all_networks(), "60s") {
        // Something of a node is in the way, and is told of there.
        for network in names::all_networks() {
            let annotation = format!("usnet.dev/force-delete={network}");
            let _gone = try_run("kubectl", &["annotate", "usn", &network, &annotation], "");
        }
        delete("usn", names::all_networks(), "60s");
    }
}

/// Whether all are gone.
fn delete(kind: &str, names: impl Iterator<Item = String>, timeout: &str) -> bool {
    let (names, timeout): (Vec<String>, _) = (names.collect(), format!("--timeout={timeout}"));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let arguments = [&["delete", kind, "--ignore-not-found", timeout.as_str()], names.as_slice()].concat();
    let result = try_run("kubectl", &arguments, "");
    result.inspect_err(|error| eprintln!("cleaning up after a run: {error}")).is_ok()
}

/// Removes the label of the run from the nodes.
fn unlabel_nodes() {
    for node in NODES {
        if let Err(error) = try_run("kubectl", &["label", "node", node, "zone-"], "") {
            eprintln!("cleaning up after a run: {error}");
        }
    }
}
