//! Manual edits of the objects that the controller writes for agents, which must be reverted.
//! Policies allow them to the controller alone, so the run impersonates it.

use crate::soak::steps::names;
use crate::support::cluster::try_run;
use crate::support::control_plane::tokens::AS_CONTROLLER;

/// Changes that agents carry out until the controller puts them back.
const EDITS: [&str; 6] = [
    r#"{"spec":{"bridge":{"mtu":1300}}}"#,
    r#"{"spec":{"phase":"Draining"}}"#,
    r#"{"spec":{"nodeSelector":{"matchLabels":{"zone":"nowhere"}}}}"#,
    r#"{"spec":{"namespaces":{"all":false,"names":["nowhere"]}}}"#,
    r#"{"spec":{"generation":1,"created":null}}"#,
    r#"{"metadata":{"ownerReferences":null}}"#,
];

pub(crate) fn delete_compiled(network: usize) -> Result<(), String> {
    kubectl(&["delete", "--wait=false", "ucn", &names::network(network)])
}

pub(crate) fn edit_compiled(network: usize, setting: usize) -> Result<(), String> {
    kubectl(&["patch", "ucn", &names::network(network), "--type=merge", "-p", EDITS[setting % EDITS.len()]])
}

pub(crate) fn delete_state(node: usize) -> Result<(), String> {
    kubectl(&["delete", "--wait=false", "usns", names::node(node)])
}

/// Removes the node from every network with a selector.
pub(crate) fn edit_state(node: usize) -> Result<(), String> {
    kubectl(&["patch", "usns", names::node(node), "--type=merge", "-p", r#"{"spec":{"labels":{"zone":"nowhere"}}}"#])
}

fn kubectl(arguments: &[&str]) -> Result<(), String> {
    try_run("kubectl", &[&AS_CONTROLLER, arguments].concat(), "").map(drop)
}
