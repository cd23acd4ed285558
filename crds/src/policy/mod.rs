//! Policies of a network, as nodes enforce them: which connections its pods may have. No labels are
//! in them: a selector is an id, and `UserspacePodSlice`s say which pods it selects.
//!
//! - [`rule`]: what a rule allows, in values that every engine can match;
//! - [`pods`]: pods, by the selectors that select them;
//! - [`verdict`]: whether policies allow a connection; the flows of engines are compared with it;
//! - [`prefixes`]: blocks of addresses without their exceptions.

pub mod pods;
pub mod prefixes;
pub mod rule;
pub mod verdict;

use crate::NamespaceName;
use pods::SelectorId;
use rule::PolicyRule;

/// Most rules of one policy, in both directions together. All nodes with its networks keep it: with
/// these limits it has less than 100 kB.
pub const RULES_MAX: usize = 128;
/// Most peers of one policy, in all of its rules together: prefixes, and selectors of pods.
pub const PEERS_MAX: usize = 1024;
/// Most ranges of ports of one policy, in all of its rules together.
pub const PORTS_MAX: usize = 256;

/// A policy of one network, for pods of a namespace that are attached to it. Policies of the same
/// pods add up: a connection is allowed if any of their rules allows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    pub namespace: NamespaceName,
    pub name: String,
    /// What selects the pods; `None` if they are all of the namespace.
    pub pods: Option<SelectorId>,
    /// What connections to the pods may be; `None` does not restrict them.
    pub ingress: Option<Vec<PolicyRule>>,
    /// What connections of the pods may be; `None` does not restrict them.
    pub egress: Option<Vec<PolicyRule>>,
}

/// The side of a connection on which a policy has a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// The pod is the destination, and the source is its peer.
    Ingress,
    /// The pod is the source, and the destination is its peer.
    Egress,
}

impl Direction {
    pub const ALL: [Self; 2] = [Self::Ingress, Self::Egress];
}

impl Policy {
    /// How many peers and ports its rules name, with each rule itself.
    pub fn size(&self) -> usize {
        let rules = Direction::ALL.into_iter().filter_map(|direction| self.rules(direction)).flatten();
        rules.map(|rule| 1 + rule.size()).sum()
    }

    /// The rules of a direction; `None` if the policy does not restrict it.
    pub fn rules(&self, direction: Direction) -> Option<&[PolicyRule]> {
        match direction {
            Direction::Ingress => self.ingress.as_deref(),
            Direction::Egress => self.egress.as_deref(),
        }
    }
}
