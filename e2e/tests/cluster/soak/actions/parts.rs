//! Kills, stops and starts parts of usnet, and parts that it needs.

use crate::soak::steps::Part;
use crate::soak::steps::names;
use crate::support::cluster::{check, try_run};

const NAMESPACE: &str = "usnet-system";

/// Kills the agent of a node.
pub(crate) fn kill_agent(node: usize) -> Result<(), String> {
    let on_node = format!("--field-selector=spec.nodeName={}", names::node(node));
    kill_pods(&["--selector=app.kubernetes.io/component=agent", &on_node])
}

/// Kills all controllers.
pub(crate) fn kill_controllers() -> Result<(), String> {
    kill_pods(&["--selector=app.kubernetes.io/component=controller"])
}

/// Kills the leading controller.
pub(crate) fn kill_leader() -> Result<(), String> {
    let lease = ["get", "lease", "usnet-controller", "-n", NAMESPACE, "-o", "jsonpath={.spec.holderIdentity}"];
    let leader = try_run("kubectl", &lease, "")?;
    check(!leader.is_empty(), "there is no leader")?;
    kill_pods(&[&leader])
}

fn kill_pods(which: &[&str]) -> Result<(), String> {
    let how = ["-n", NAMESPACE, "--grace-period=0", "--force", "--wait=false"];
    try_run("kubectl", &[&["delete", "pod"], which, &how].concat(), "").map(drop)
}

/// Kills programs of an engine.
pub(crate) fn stop_engine(node: usize, part: Part) -> Result<(), String> {
    programs(part).iter().rev().try_for_each(|program| component("stop", program, node))
}

/// Starts these programs.
pub(crate) fn start_engine(node: usize, part: Part) -> Result<(), String> {
    programs(part).iter().try_for_each(|program| component("start", program, node))
}

/// In the order in which they start.
const fn programs(part: Part) -> &'static [&'static str] {
    match part {
        Part::Vpp => &["vpp"],
        Part::OpenVswitch => &["ovsdb-server", "ovs-vswitchd"],
        Part::Database => &["ovsdb-server"],
        Part::Switch => &["ovs-vswitchd"],
    }
}

/// Kills the API server, or starts it.
pub(crate) fn api_server(verb: &str) -> Result<(), String> {
    try_run("component", &[verb, "kube-apiserver"], "").map(drop)
}

/// Deletes a Node object while its kubelet and its agent run.
pub(crate) fn delete_node(node: usize) -> Result<(), String> {
    try_run("kubectl", &["delete", "node", names::node(node), "--wait=false"], "").map(drop)
}

/// Restarts a kubelet: that is when it creates a missing Node object.
pub(crate) fn return_node(node: usize) -> Result<(), String> {
    component("stop", "kubelet", node)?;
    component("start", "kubelet", node)
}

/// Starts whatever may have been stopped.
pub(crate) fn start_all() {
    let _runs = api_server("start");
    for node in 0..crate::support::cluster::NODES.len() {
        for part in [Part::OpenVswitch, Part::Database, Part::Switch, Part::Vpp] {
            let _runs = start_engine(node, part);
        }
        let is_there = try_run("kubectl", &["get", "node", names::node(node)], "").is_ok();
        if !is_there && let Err(error) = return_node(node) {
            eprintln!("cleaning up after a run: {error}");
        }
    }
}

fn component(verb: &str, program: &str, node: usize) -> Result<(), String> {
    try_run("component", &[verb, program, names::node(node)], "").map(drop)
}
