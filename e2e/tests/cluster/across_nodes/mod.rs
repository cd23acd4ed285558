//! Networks that connect nodes: two nodes in `make test`, three in `make across`, which also runs
//! longer tests and prints tables.

mod addresses;
mod measure;
mod merged_packets;
mod mtu;
mod outside;
mod overlay;
mod recovery;
mod segment;
mod shared;
mod uplink;

use crate::support::cluster::nodes;

/// Whether this is the long form. If not, this prints what is left out.
fn is_long(what: &str) -> bool {
    let is_long = nodes().len() > 2;
    if !is_long {
        println!("left out: {what}: the test bed has two nodes; `make across` has three");
    }
    is_long
}
