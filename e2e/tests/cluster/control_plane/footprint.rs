//! The resource usage of usnet on a node.

use crate::outages::components::replace_agent;
use crate::support::cluster::{NODES, on_node};

/// Most memory of an agent that has just started that is its own, in kB. The pages of its program
/// are not counted: the kernel takes them back when memory is short, and the program of a test bed
/// is larger than that of a release. It was 6.3 MB without optimization, as in test beds, and 2.9
/// in a release.
const STARTED_MAX: u64 = 8 * 1024;
/// The same after whatever tests have run: with optimization it was 4.3 MB after an hour of usual
/// ones, 8.0 to 8.7 MB after those of `abuse`, because the allocator keeps what thousands of
/// networks needed.
const AT_REST_MAX: u64 = 16 * 1024;

/// The memory of both agents.
fn memory() -> Vec<u64> {
    // The nodes of a test bed share their process ids.
    let agents = "for pid in $(pgrep -f '^/usr/local/bin/usnet agent'); do grep -h '^Rss' /proc/$pid/status; done";
    let observed = on_node(NODES[0], &["sh", "-c", agents]);
    println!("resident memory of the agents: {}", observed.split_whitespace().collect::<Vec<_>>().join(" "));
    let sizes = observed.lines().filter_map(|line| line.strip_prefix("RssAnon:")?.split_whitespace().next());
    let sizes: Vec<u64> = sizes.map(|size| size.parse().unwrap()).collect();
    assert_eq!(sizes.len(), NODES.len(), "{observed}");
    sizes
}

#[test]
fn an_idle_agent_uses_little_memory() {
    let at_rest = memory();
    assert!(at_rest.iter().all(|size| *size <= AT_REST_MAX), "{at_rest:?}");
    NODES.iter().for_each(|node| replace_agent(node));
    let started = memory();
    assert!(started.iter().all(|size| *size <= STARTED_MAX), "{started:?}");
}
