//! The desired slices of nodes. Pure.

use crate::cache::fingerprint;
use crate::cache::{Cache, Labels, Node};
use crate::write::Write;
use std::collections::BTreeSet;
use usnet_crds::UserspaceNodeSliceSpec;
use usnet_crds::node_slice::{ADDRESSES_MAX, SliceNode, slice_numbers};

/// The write that brings the slice of this name up to date; none when it is.
pub fn write(cache: &Cache, name: &str) -> Option<Write> {
    let found = cache.slices.get(name);
    match (desired(cache, name), found) {
        (None, found) => found.map(|found| Write::DeleteNodeSlice { slice: name.to_owned(), uid: found.uid.clone() }),
        (Some(spec), found) => {
            let is_current = found.is_some_and(|found| found.fingerprint == Some(fingerprint::of_slice(&spec)));
            let uid = found.map(|found| found.uid.clone());
            (!is_current).then(|| Write::NodeSlice { slice: name.to_owned(), uid, spec: Box::new(spec) })
        }
    }
}

/// None while there is no overlay, and for a slice without nodes.
fn desired(cache: &Cache, name: &str) -> Option<UserspaceNodeSliceSpec> {
    let keys = cache.overlays.label_keys()?;
    let names = cache.node_numbers.nodes_with(slice_numbers(name)?);
    let mut nodes: Vec<SliceNode> = names.filter_map(|name| slice_node(cache, name, keys)).collect();
    nodes.sort_by(|one, other| one.name.cmp(&other.name));
    (!nodes.is_empty()).then_some(UserspaceNodeSliceSpec { nodes })
}

/// A node that is not ready stays a peer: its pods may still be running. One without a state of its
/// own has no agent that could carry anything.
fn slice_node(cache: &Cache, name: &str, keys: &BTreeSet<String>) -> Option<SliceNode> {
    let node: &Node = cache.nodes.get(name)?;
    let number = cache.states.get(name).filter(|state| state.is_of(node))?.number?;
    let labels: Labels = node.labels.iter().filter(|(key, _)| keys.contains(*key)).map(clone).collect();
    let addresses = node.addresses.iter().take(ADDRESSES_MAX).copied().collect();
    Some(SliceNode { name: name.to_owned(), number, addresses, labels })
}

fn clone((key, value): (&String, &String)) -> (String, String) {
    (key.clone(), value.clone())
}
