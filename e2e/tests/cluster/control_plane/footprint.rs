//! What usnet costs a node.

use crate::support::cluster::{NODES, on_node};

/// Most resident memory of an agent at rest, in kB.
const AGENT_MAX: u64 = 30 * 1024;

#[test]
fn an_agent_at_rest_is_small() {
    // The nodes of a test bed share their process ids.
    let script =
        "for pid in $(pgrep -f '^/usr/local/bin/usnet agent'); do sed -n 's/^VmRSS: *//p' /proc/$pid/status; done";
    let observed = on_node(NODES[0], &["sh", "-c", script]);
    println!("resident memory of the agents: {}", observed.trim().replace('\n', ", "));
    let sizes: Vec<u64> =
        observed.lines().map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect();
    assert_eq!(sizes.len(), NODES.len(), "{observed}");
    assert!(sizes.iter().all(|size| *size <= AGENT_MAX), "{observed}");
}
