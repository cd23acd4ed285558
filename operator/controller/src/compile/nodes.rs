//! The desired spec of a UserspaceNodeState: number and labels. Pure.

use crate::cache::Cache;
use crate::write::Write;

/// The write that the state of a node needs; none when it is up to date. Newly assigned numbers are
/// remembered.
pub fn write(cache: &mut Cache, name: &str) -> Option<Write> {
    let state = cache.states.get(name);
    let Some(node) = cache.nodes.get(name) else {
        return state.map(|_| Write::DeleteNodeState { node: name.to_owned() });
    };
    // It belongs to an earlier node of that name: the reports of its agent are discarded with it.
    if state.is_some_and(|state| state.owner.is_some() && !state.is_of(node)) {
        return Some(Write::DeleteNodeState { node: name.to_owned() });
    }
    let number = cache.node_numbers.for_node(name, state.and_then(|state| state.number));
    let is_current =
        state.is_some_and(|state| state.is_of(node) && state.number == Some(number) && state.labels == node.labels);
    (!is_current).then(|| Write::NodeState {
        node: name.to_owned(),
        owner: node.uid.clone(),
        uid: state.map(|state| state.uid.clone()),
        number,
        labels: node.labels.clone(),
    })
}
