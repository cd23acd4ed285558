//! Node numbers: unique and stable for each node. Address ranges are derived from them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use usnet_crds::node_state::NODE_NUMBER_MAX;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeNumbers {
    /// Nodes by the number in their state: more than one only after a restore or an edit.
    holders: BTreeMap<u32, BTreeSet<String>>,
    /// Numbers that were assigned and that the watch does not show yet.
    reserved: BTreeMap<String, u32>,
}

impl NodeNumbers {
    /// Updates the number in the state of a node, which is none without a readable state. Returns
    /// the other nodes with the same number: all but one of them need another.
    pub fn update(&mut self, node: &str, before: Option<u32>, now: Option<u32>) -> Vec<String> {
        if before != now {
            if let Some(nodes) = before.and_then(|number| self.holders.get_mut(&number)) {
                nodes.remove(node);
            }
            self.holders.retain(|_, nodes| !nodes.is_empty());
            if let Some(number) = now {
                self.holders.entry(number).or_default().insert(node.to_owned());
            }
        }
        self.reserved.remove(node);
        let holders = now.and_then(|number| self.holders.get(&number)).into_iter().flatten();
        holders.filter(|holder| *holder != node).cloned().collect()
    }

    /// The nodes whose states have these numbers.
    pub fn nodes_with(&self, numbers: RangeInclusive<u32>) -> impl Iterator<Item = &String> {
        self.holders.range(numbers).flat_map(|(_, nodes)| nodes)
    }

    /// All numbers in states of nodes.
    pub fn all(&self) -> impl Iterator<Item = u32> {
        self.holders.keys().copied()
    }

    /// The number to assign to the node, whose state has `now`: the same, unless another node has
    /// it as well. Then the first of them by name keeps it.
    pub fn for_node(&mut self, node: &str, now: Option<u32>) -> u32 {
        let keeps = |number: &u32| {
            self.holders.get(number).and_then(BTreeSet::first).is_none_or(|first| first == node)
                && !self.reserved.iter().any(|(other, taken)| other != node && taken == number)
        };
        if let Some(number) = now.filter(keeps) {
            return number;
        }
        if let Some(number) = self.reserved.get(node) {
            return *number;
        }
        let taken: BTreeSet<u32> = self.holders.keys().chain(self.reserved.values()).copied().collect();
        // There are fewer nodes than numbers; a cluster of more would have to share the last.
        let free = (0..NODE_NUMBER_MAX).find(|number| !taken.contains(number)).unwrap_or(NODE_NUMBER_MAX);
        self.reserved.insert(node.to_owned(), free);
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_gets_a_number_of_its_own_and_keeps_it() {
        let mut numbers = NodeNumbers::default();
        assert_eq!(["a", "b", "a"].map(|node| numbers.for_node(node, None)), [0, 1, 0]);
        numbers.update("a", None, Some(0));
        numbers.update("b", None, Some(1));
        numbers.update("a", Some(0), None);
        assert_eq!(numbers.for_node("c", None), 0, "the number of a node that left is free");
        assert_eq!(numbers.for_node("b", Some(1)), 1);
    }

    #[test]
    fn of_two_nodes_with_one_number_the_second_gets_another() {
        let mut numbers = NodeNumbers::default();
        for node in ["a", "b"] {
            numbers.update(node, None, Some(7));
        }
        assert_eq!((numbers.for_node("a", Some(7)), numbers.for_node("b", Some(7))), (7, 0));
        numbers.update("b", Some(7), Some(0));
        assert_eq!(numbers.for_node("b", Some(0)), 0);
    }
}
