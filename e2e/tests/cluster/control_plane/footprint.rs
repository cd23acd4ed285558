//! What usnet costs a node.

use crate::support::cluster::{NODES, on_node};

/// Most memory of an agent at rest that is its own, in kB. The pages of its program are not
/// counted: the kernel takes them back when memory is short, and the program of a test bed is
/// larger than that of a release. After an hour of usual tests it is 4.3 MB, and 8.0 to 8.7 MB
/// after those of `abuse`, which run before: the allocator keeps what thousands of networks needed.
const AGENT_MAX: u64 = 12 * 1024;

#[test]
fn an_agent_at_rest_is_small() {
    // The nodes of a test bed share their process ids.
    let agents = "for pid in $(pgrep -f '^/usr/local/bin/usnet agent'); do grep -h '^Rss' /proc/$pid/status; done";
    let observed = on_node(NODES[0], &["sh", "-c", agents]);
    println!("resident memory of the agents: {}", observed.split_whitespace().collect::<Vec<_>>().join(" "));
    let sizes = observed.lines().filter_map(|line| line.strip_prefix("RssAnon:")?.split_whitespace().next());
    let sizes: Vec<u64> = sizes.map(|size| size.parse().unwrap()).collect();
    assert_eq!(sizes.len(), NODES.len(), "{observed}");
    assert!(sizes.iter().all(|size| *size <= AGENT_MAX), "{observed}");
}
